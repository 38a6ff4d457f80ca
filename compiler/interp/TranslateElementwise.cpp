//===- TranslateElementwise.cpp - arithmetic, element by element --------------------------===//
// Needs: see Translator.h.
// Gives: instructions of arith and math operations and of the arithmetic that tile adds.
// How:   tables from operation names to kinds. Scalars are tiles of one element.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Translator.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace pantile::interp {
namespace {

const llvm::StringMap<BinaryOp> &binaryOps() {
  using enum BinaryOp;
  static const auto *table = new llvm::StringMap<BinaryOp>({
      {"arith.addi", Add},           {"arith.subi", Sub},
      {"arith.muli", Mul},           {"arith.divsi", DivS},
      {"arith.divui", DivU},         {"arith.remsi", RemS},
      {"arith.remui", RemU},         {"arith.floordivsi", FloorDivS},
      {"arith.ceildivsi", CeilDivS}, {"arith.ceildivui", CeilDivU},
      {"arith.andi", And},           {"arith.ori", Or},
      {"arith.xori", Xor},           {"arith.shli", Shl},
      {"arith.shrsi", ShrS},         {"arith.shrui", ShrU},
      {"arith.maxsi", MaxS},         {"arith.maxui", MaxU},
      {"arith.minsi", MinS},         {"arith.minui", MinU},
      {"tile.mulhi_u", MulHiU},      {"arith.addf", AddF},
      {"arith.subf", SubF},          {"arith.mulf", MulF},
      {"arith.divf", DivF},          {"arith.remf", RemF},
      {"arith.maximumf", MaximumF},  {"arith.minimumf", MinimumF},
      {"arith.maxnumf", MaxNumF},    {"arith.minnumf", MinNumF},
      {"math.powf", PowF},           {"math.atan2", Atan2},
      {"math.copysign", CopySign},   {"tile.precise_div", DivF},
  });
  return *table;
}

const llvm::StringMap<UnaryOp> &unaryOps() {
  using enum UnaryOp;
  static const auto *table = new llvm::StringMap<UnaryOp>({
      {"math.absi", AbsI},
      {"math.ctlz", CountLeadingZeros},
      {"math.cttz", CountTrailingZeros},
      {"math.ctpop", PopCount},
      {"arith.negf", NegF},
      {"math.absf", AbsF},
      {"math.acos", Acos},
      {"math.acosh", Acosh},
      {"math.asin", Asin},
      {"math.asinh", Asinh},
      {"math.atan", Atan},
      {"math.atanh", Atanh},
      {"math.cbrt", Cbrt},
      {"math.ceil", Ceil},
      {"math.cos", Cos},
      {"math.cosh", Cosh},
      {"math.erf", Erf},
      {"math.erfc", Erfc},
      {"math.exp", Exp},
      {"math.exp2", Exp2},
      {"math.expm1", ExpM1},
      {"math.floor", Floor},
      {"math.log", Log},
      {"math.log10", Log10},
      {"math.log1p", Log1p},
      {"math.log2", Log2},
      {"math.round", Round},
      {"math.roundeven", RoundEven},
      {"math.rsqrt", Rsqrt},
      {"math.sin", Sin},
      {"math.sinh", Sinh},
      {"math.sqrt", Sqrt},
      {"math.tan", Tan},
      {"math.tanh", Tanh},
      {"math.trunc", Trunc},
      {"tile.precise_sqrt", Sqrt},
  });
  return *table;
}

const llvm::StringMap<ConvertOp> &convertOps() {
  using enum ConvertOp;
  static const auto *table = new llvm::StringMap<ConvertOp>({
      {"arith.extsi", SignedInt},
      {"arith.extui", UnsignedInt},
      {"arith.trunci", UnsignedInt},
      {"arith.index_cast", SignedInt},
      {"arith.index_castui", UnsignedInt},
      {"arith.sitofp", SignedToFloat},
      {"arith.uitofp", UnsignedToFloat},
      {"arith.fptosi", FloatToSigned},
      {"arith.fptoui", FloatToUnsigned},
      {"arith.extf", Float},
      {"arith.truncf", Float},
  });
  return *table;
}

const llvm::StringMap<TestOp> &testOps() {
  using enum TestOp;
  static const auto *table = new llvm::StringMap<TestOp>({{"math.isnan", IsNan},
                                                          {"math.isinf", IsInf},
                                                          {"math.isfinite", IsFinite},
                                                          {"math.isnormal", IsNormal}});
  return *table;
}

template <typename T> const T *find(const llvm::StringMap<T> &table, StringRef name) {
  auto entry = table.find(name);
  return entry == table.end() ? nullptr : &entry->second;
}

/// Division may be reported, which setup code cannot do; and it may be in code that never runs.
bool isDivision(BinaryOp op) { return op >= BinaryOp::DivS && op <= BinaryOp::CeilDivU; }

std::vector<std::byte> bytesOfBits(const llvm::APInt &bits, unsigned size) {
  std::vector<std::byte> bytes(size);
  for (unsigned i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(bits.getZExtValue() >> (8 * i));
  return bytes;
}

/// The bits of an attribute's only value, or of each of its values.
std::vector<std::byte> constantBytes(Attribute value, Elem elem) {
  unsigned size = sizeOf(elem);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return bytesOfBits(integer.getValue(), size);
  if (auto real = dyn_cast<FloatAttr>(value))
    return bytesOfBits(real.getValue().bitcastToAPInt(), size);
  std::vector<std::byte> all;
  auto append = [&](const llvm::APInt &bits) {
    auto bytes = bytesOfBits(bits, size);
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (!elements)
    return all;
  if (isFloat(elem)) {
    auto values = elements.getValues<llvm::APFloat>();
    for (auto it = values.begin();
         it != (elements.isSplat() ? std::next(values.begin()) : values.end()); ++it)
      append((*it).bitcastToAPInt());
  } else {
    auto values = elements.getValues<llvm::APInt>();
    for (auto it = values.begin();
         it != (elements.isSplat() ? std::next(values.begin()) : values.end()); ++it)
      append(*it);
  }
  return all;
}

} // namespace

LogicalResult Translator::emitMap(Operation *op, Handler run, uint32_t extra) {
  if (!run)
    return unsupported(op, "on such elements");
  bool constant = !combiner && allConstant(op->getOperands());
  Operands operands;
  Reg *slots[] = {&operands.a, &operands.b, &operands.c};
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    *slots[i] = reg(operand);
  operands.dst = define(op->getResult(0), constant);
  builder.emit(run, operands, countOf(op->getResult(0).getType()), extra, 0);
  return success();
}

LogicalResult Translator::visitConstant(Value result, Attribute value) {
  Elem elem = *elemOf(result.getType());
  std::vector<std::byte> bytes = constantBytes(value, elem);
  if (bytes.empty())
    return unsupported(result.getDefiningOp(), "with such a value");
  Reg data = builder.newReg(bytes.size(), true);
  bool whole = bytes.size() > sizeOf(elem) || countOf(result.getType()) == 1;
  builder.code().constants.push_back(std::move(bytes));
  builder.emit(runConstant, {data}, 1, static_cast<uint32_t>(builder.code().constants.size() - 1),
               0);
  bind(result, whole ? data : splat(data, result.getType(), countOf(result.getType())));
  return success();
}

LogicalResult Translator::visitSelect(Operation *op) {
  Value condition = op->getOperand(0), result = op->getResult(0);
  unsigned bytes = sizeOf(*elemOf(result.getType()));
  if (countOf(condition.getType()) == countOf(result.getType()))
    return emitMap(op, kernels().select(bytes));
  Reg all = splat(reg(condition), condition.getType(), countOf(result.getType()));
  Reg yes = reg(op->getOperand(1)), no = reg(op->getOperand(2));
  builder.emit(kernels().select(bytes), {define(result), all, yes, no}, countOf(result.getType()),
               0, 0);
  return success();
}

LogicalResult Translator::visitClamp(Operation *op) {
  auto clamp = cast<math::ClampFOp>(op);
  Elem elem = *elemOf(clamp.getType());
  uint32_t count = countOf(clamp.getType());
  Reg value = reg(clamp.getValue()), low = reg(clamp.getMin()), high = reg(clamp.getMax());
  Reg raised = builder.newReg(bytesOf(clamp.getType()));
  builder.emit(kernels().binary(BinaryOp::MaxNumF, elem), {raised, value, low}, count, 0, 0);
  builder.emit(kernels().binary(BinaryOp::MinNumF, elem), {define(clamp), raised, high}, count, 0,
               0);
  return success();
}

/// Multiplications and additions with two results: the low and the high half, or the carry.
LogicalResult Translator::visitExtended(Operation *op) {
  Elem elem = *elemOf(op->getResult(0).getType());
  uint32_t count = countOf(op->getResult(0).getType());
  Reg a = reg(op->getOperand(0)), b = reg(op->getOperand(1));
  Reg low = define(op->getResult(0)), high = define(op->getResult(1));
  if (isa<arith::AddUIExtendedOp>(op)) {
    builder.emit(kernels().binary(BinaryOp::Add, elem), {low, a, b}, count, 0, 0);
    auto less = static_cast<unsigned>(arith::CmpIPredicate::ult);
    builder.emit(kernels().compareInt(less, elem), {high, low, a}, count, 0, 0);
    return success();
  }
  BinaryOp upper = isa<arith::MulSIExtendedOp>(op) ? BinaryOp::MulHiS : BinaryOp::MulHiU;
  builder.emit(kernels().binary(BinaryOp::Mul, elem), {low, a, b}, count, 0, 0);
  builder.emit(kernels().binary(upper, elem), {high, a, b}, count, 0, 0);
  return success();
}

/// A float to the power of an integer: the exponent is converted first.
LogicalResult Translator::visitIntPower(Operation *op) {
  Value result = op->getResult(0);
  Elem elem = *elemOf(result.getType()), exponentElem = *elemOf(op->getOperand(1).getType());
  uint32_t count = countOf(result.getType());
  Reg base = reg(op->getOperand(0)), exponent = reg(op->getOperand(1));
  Reg converted = builder.newReg(bytesOf(result.getType()));
  builder.emit(kernels().convert(ConvertOp::SignedToFloat, exponentElem, elem),
               {converted, exponent}, count, 0, 0);
  builder.emit(kernels().binary(BinaryOp::PowF, elem), {define(result), base, converted}, count, 0,
               0);
  return success();
}

std::optional<LogicalResult> Translator::visitElementwise(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return visitConstant(constant, constant.getValue());
  if (auto call = dyn_cast<ExternCallOp>(op))
    return visitExternCall(call);
  if (op->getNumOperands() == 0 || op->getNumResults() == 0)
    return std::nullopt;
  Elem elem = *elemOf(op->getResult(0).getType());
  std::optional<Elem> from = elemOf(op->getOperand(0).getType());
  if (!from)
    return unsupported(op, "on such elements");
  if (const BinaryOp *kind = find(binaryOps(), name)) {
    if (!isDivision(*kind))
      return emitMap(op, kernels().binary(*kind, elem));
    Operands operands{{}, reg(op->getOperand(0)), reg(op->getOperand(1)), {}};
    operands.dst = define(op->getResult(0));
    builder.emit(kernels().binary(*kind, elem), operands, countOf(op->getResult(0).getType()), 0,
                 placeOf(op->getLoc()));
    return success();
  }
  if (const UnaryOp *kind = find(unaryOps(), name))
    return emitMap(op, kernels().unary(*kind, elem));
  if (const ConvertOp *kind = find(convertOps(), name)) {
    auto truncation = dyn_cast<arith::TruncFOp>(op);
    const bool towardZero =
        truncation && truncation.getRoundingmode() == arith::RoundingMode::toward_zero;
    return emitMap(op,
                   kernels().convert(towardZero ? ConvertOp::FloatTowardZero : *kind, *from, elem));
  }
  if (const TestOp *kind = find(testOps(), name))
    return emitMap(op, kernels().test(*kind, *from));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return emitMap(op, kernels().compareInt(static_cast<unsigned>(compare.getPredicate()), *from));
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return emitMap(op,
                   kernels().compareFloat(static_cast<unsigned>(compare.getPredicate()), *from));
  if (isa<arith::SelectOp>(op))
    return visitSelect(op);
  if (isa<math::FmaOp>(op))
    return emitMap(op, kernels().fma(elem));
  if (isa<math::ClampFOp>(op))
    return visitClamp(op);
  if (isa<math::FPowIOp>(op))
    return visitIntPower(op);
  if (isa<arith::AddUIExtendedOp, arith::MulSIExtendedOp, arith::MulUIExtendedOp>(op))
    return visitExtended(op);
  if (isa<arith::BitcastOp, PtrToIntOp, IntToPtrOp, PtrCastOp>(op)) {
    if (sizeOf(*from) != sizeOf(elem))
      return unsupported(op, "between these types");
    builder.code().foreignPointers |= isa<IntToPtrOp>(op);
    bind(op->getResult(0), reg(op->getOperand(0)));
    return success();
  }
  if (auto add = dyn_cast<AddPtrOp>(op)) {
    Type pointee = cast<PtrType>(elementTypeOf(add.getType())).getPointee();
    std::optional<Elem> target = elemOf(pointee);
    if (!target)
      return unsupported(op, "on such a pointer");
    return emitMap(op, kernels().addPtr(*elemOf(add.getOffset().getType())), sizeOf(*target));
  }
  return std::nullopt;
}

} // namespace pantile::interp
