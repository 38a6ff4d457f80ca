//===- TileDialect.cpp - the `tile` dialect: registration, layout attribute, type access ===//
// Gives: parsing and printing of `#tile.layout`, and queries of types that all passes use
//        (layoutOf, elementTypeOf, storageBits).
//===-----------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "layout/AbsentWarps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pantile;

#include "ir/TileDialect.cpp.inc"
#include "ir/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/TileTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/TileAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "ir/TileOps.cpp.inc"

namespace {
/// Prints layouts as `#layout` aliases, to keep functions readable.
struct TileAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};

SmallVector<int32_t> flatten(const LinearLayout::Bases &bases) {
  SmallVector<int32_t> flat;
  for (const auto &basis : bases)
    flat.append(basis.begin(), basis.end());
  return flat;
}

LinearLayout::Bases unflatten(ArrayRef<int32_t> flat, size_t rank) {
  LinearLayout::Bases bases;
  for (size_t i = 0; i < flat.size(); i += rank)
    bases.push_back(LinearLayout::Coord(flat.slice(i, rank)));
  return bases;
}

void printBases(AsmPrinter &printer, StringRef name, ArrayRef<int32_t> flat, size_t rank) {
  printer << name << " = [";
  for (size_t i = 0; i < flat.size(); i += rank) {
    printer << (i ? ", [" : "[");
    llvm::interleaveComma(flat.slice(i, rank), printer);
    printer << "]";
  }
  printer << "]";
}

/// `name = [[..], [..]]`; a rank-0 tile's bases print as `[[], []]` and parse to nothing.
ParseResult parseBases(AsmParser &parser, StringRef name, size_t rank, SmallVector<int32_t> &flat) {
  auto parseBasis = [&]() -> ParseResult {
    size_t count = 0;
    auto parseInt = [&]() -> ParseResult {
      return ++count, parser.parseInteger(flat.emplace_back());
    };
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseInt))
      return failure();
    return count == rank
               ? success()
               : parser.emitError(loc) << "expected " << rank << " coordinates in a basis";
  };
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseBasis));
}
} // namespace

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/TileOps.cpp.inc"
      >();
  addInterfaces<TileAliases>();
}

LayoutAttr LayoutAttr::get(MLIRContext *context, const LinearLayout &layout) {
  return get(context, SmallVector<int32_t>(layout.shape().begin(), layout.shape().end()),
             flatten(layout.reg()), flatten(layout.lane()), flatten(layout.warp()),
             layout.rank() == 0 ? 1 : static_cast<unsigned>(layout.numWarps()));
}

LinearLayout LayoutAttr::getLinear() const {
  size_t rank = getShape().size();
  return LinearLayout(SmallVector<int64_t>(getShape().begin(), getShape().end()),
                      unflatten(getRegBases(), rank), unflatten(getLaneBases(), rank),
                      unflatten(getWarpBases(), rank), static_cast<int>(getWarps()));
}

void LayoutAttr::print(AsmPrinter &printer) const {
  size_t rank = getShape().size();
  printer << "<[";
  llvm::interleaveComma(getShape(), printer);
  printer << "], ";
  printBases(printer, "reg", getRegBases(), rank);
  printer << ", ";
  printBases(printer, "lane", getLaneBases(), rank);
  printer << ", ";
  printBases(printer, "warp", getWarpBases(), rank);
  if (!llvm::isPowerOf2_32(getWarps()))
    printer << ", warps = " << getWarps();
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int32_t> shape, reg, lane, warp;
  auto parseSize = [&]() -> ParseResult { return parser.parseInteger(shape.emplace_back()); };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize) ||
      parser.parseComma() || parseBases(parser, "reg", shape.size(), reg) || parser.parseComma() ||
      parseBases(parser, "lane", shape.size(), lane) || parser.parseComma() ||
      parseBases(parser, "warp", shape.size(), warp))
    return {};
  const unsigned counted = 1U << (shape.empty() ? warp.size() : warp.size() / shape.size());
  unsigned warps = counted;
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("warps") || parser.parseEqual() || parser.parseInteger(warps)))
    return {};
  if (parser.parseGreater())
    return {};
  if (warps > counted || warps <= counted / 2) {
    parser.emitError(parser.getCurrentLocation())
        << "layout_c1: " << warps << " warps, but bases for " << counted;
    return {};
  }
  return get(parser.getContext(), shape, reg, lane, warp, warps);
}

LogicalResult LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (!llvm::equal(shape, getShape()))
    return emitError() << "a layout of another shape";
  if (!llvm::isPowerOf2_32(getWarps()) && !ownersExist(getLinear()))
    return emitError() << "layout_c1: an element belongs to a warp beyond the " << getWarps();
  return success();
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile() || getCache() == CacheModifier::Cv)
    effects.emplace_back(MemoryEffects::Write::get());
}

/// A call that is not pure counts as a read and a write.
static void
addCallEffects(bool pure,
               SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (pure)
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
void ExternCallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addCallEffects(getPure(), effects);
}
void InlineAsmOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addCallEffects(getPure(), effects);
}

LinearLayout pantile::layoutOf(Type type) {
  return cast<LayoutAttr>(cast<RankedTensorType>(type).getEncoding()).getLinear();
}

RankedTensorType pantile::withLayout(RankedTensorType type, const LinearLayout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               LayoutAttr::get(type.getContext(), layout));
}

Type pantile::elementTypeOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getElementType() : type;
}

unsigned pantile::storageBits(Type elementType) {
  if (isa<PtrType>(elementType))
    return 64;
  if (isa<FloatTF32Type>(elementType)) // of a tensor map whose copies round to tf32
    return 32;
  return std::max(8u, elementType.getIntOrFloatBitWidth());
}

int pantile::moduleInt(Operation *op, StringRef name, int fallback) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto attr = module->getAttrOfType<IntegerAttr>(name);
  return attr ? static_cast<int>(attr.getInt()) : fallback;
}

StringRef pantile::moduleTarget(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto attr = module->getAttrOfType<StringAttr>(names::target);
  return attr ? attr.getValue() : StringRef("cpu");
}

void pantile::registerTileDialects(DialectRegistry &registry) {
  registry.insert<TileDialect, nv::NvDialect, arith::ArithDialect, func::FuncDialect,
                  math::MathDialect, scf::SCFDialect>();
}
