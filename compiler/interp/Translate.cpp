//===- Translate.cpp - the walk over a kernel, registers and source positions -------------===//
// Needs: see Translator.h.
// Gives: translateKernel, and functions that the other parts of the Translator use.
//===------------------------------------------------------------------------------------===//
#include "interp/Translate.h"
#include "interp/Control.h"
#include "interp/Translator.h"
#include "support/Diagnostics.h"
#include <fmt/format.h>

using namespace mlir;

namespace pantile::interp {
namespace {

/// The ranges of a location, innermost call first.
void collectRanges(Location loc, std::vector<SourceRange> &ranges) {
  if (auto range = dyn_cast<FileLineColRange>(loc)) {
    ranges.push_back({range.getFilename().str(), static_cast<int>(range.getStartLine()),
                      static_cast<int>(range.getStartColumn()),
                      static_cast<int>(range.getEndLine()),
                      static_cast<int>(range.getEndColumn())});
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectRanges(call.getCallee(), ranges);
    collectRanges(call.getCaller(), ranges);
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    collectRanges(name.getChildLoc(), ranges);
  } else if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty()) {
    collectRanges(fused.getLocations().front(), ranges);
  }
}

/// The user's name of an argument: its name if the location has one, else the source text there.
std::string argumentName(BlockArgument argument, const SourceManager *sources) {
  if (auto name = dyn_cast<NameLoc>(argument.getLoc()))
    return name.getName().str();
  std::vector<SourceRange> ranges;
  collectRanges(argument.getLoc(), ranges);
  if (sources && !ranges.empty() && ranges[0].line == ranges[0].endLine)
    if (auto line = sources->lineText(ranges[0].file, ranges[0].line)) {
      size_t begin = ranges[0].column - 1, length = ranges[0].endColumn - ranges[0].column;
      std::string text = begin < line->size() ? line->substr(begin, length) : "";
      text = text.substr(0, text.find_first_of(": ="));
      if (!text.empty())
        return text;
    }
  return fmt::format("#{}", argument.getArgNumber());
}

} // namespace

std::optional<Elem> elemOf(Type type) {
  if (auto tile = dyn_cast<RankedTensorType>(type))
    type = tile.getElementType();
  if (isa<PtrType>(type))
    return Elem::Ptr;
  if (isa<IndexType>(type))
    return Elem::I64;
  if (isa<Float8E4M3FNType>(type))
    return Elem::F8E4M3;
  if (isa<Float8E5M2Type>(type))
    return Elem::F8E5M2;
  if (type.isBF16())
    return Elem::BF16;
  if (!type.isIntOrFloat())
    return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return Elem::I1;
  case 8:
    return type.isInteger() ? std::optional(Elem::I8) : std::nullopt;
  case 16:
    return type.isInteger() ? Elem::I16 : Elem::F16;
  case 32:
    return type.isInteger() ? Elem::I32 : Elem::F32;
  case 64:
    return type.isInteger() ? Elem::I64 : Elem::F64;
  default:
    return std::nullopt;
  }
}

uint32_t Translator::countOf(Type type) const {
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return static_cast<uint32_t>(tile.getNumElements());
  return lanes ? lanes : 1;
}

uint64_t Translator::bytesOf(Type type) const {
  return uint64_t(countOf(type)) * sizeOf(*elemOf(type));
}

Reg Translator::reg(Value value) {
  auto found = registers.find(value);
  assert(found != registers.end() && "operand was not translated");
  Reg reg = found->second;
  bool captured = combiner && !combiner->isAncestor(value.getParentRegion());
  return captured ? splat(reg, value.getType(), lanes) : reg;
}

Reg Translator::define(Value result, bool constant) {
  auto place = inPlace.find(result);
  Reg reg =
      place != inPlace.end() ? place->second : builder.newReg(bytesOf(result.getType()), constant);
  bind(result, reg);
  return reg;
}

bool Translator::allConstant(ValueRange values) {
  return llvm::all_of(values, [&](Value value) { return registers.lookup(value).constant; });
}

Reg Translator::splat(Reg scalar, Type type, uint32_t count) {
  unsigned bytes = sizeOf(*elemOf(type));
  Reg tile = builder.newReg(uint64_t(count) * bytes, scalar.constant);
  builder.emit(kernels().fill(bytes), {tile, scalar}, count, 0, 0);
  return tile;
}

void Translator::emitCopy(Reg dst, Reg src, uint64_t bytes) {
  if (!(dst == src))
    builder.emit(runCopy, {dst, src}, bytes, 0, 0);
}

uint32_t Translator::placeOf(Location loc) {
  auto [entry, isNew] = placeNumbers.try_emplace(loc, 0);
  if (!isNew)
    return entry->second;
  Place place;
  collectRanges(loc, place.ranges);
  for (const SourceRange &range : place.ranges)
    place.lines.push_back(sources ? sources->lineText(range.file, range.line).value_or("") : "");
  auto &places = builder.code().places;
  places.push_back(std::move(place));
  return entry->second = static_cast<uint32_t>(places.size() - 1);
}

LogicalResult Translator::unsupported(Operation *op, StringRef what) {
  if (error)
    return failure();
  const Place &place = builder.code().places[placeOf(op->getLoc())];
  std::string message =
      fmt::format("`{}`{}{} is not supported on the CPU", op->getName().getStringRef().str(),
                  what.empty() ? "" : " ", what.str());
  error = makeError(ErrorKind::Unsupported, message);
  if (!place.ranges.empty()) {
    error->range = place.ranges[0];
    error->rendered =
        sources ? renderDiagnostic(*sources, Severity::Error, place.ranges[0], message)
                : renderDiagnostic(SourceManager(), Severity::Error, place.ranges[0], message);
  }
  return failure();
}

LogicalResult Translator::visitArguments(func::FuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments()) {
    std::optional<Elem> elem = elemOf(argument.getType());
    if (!elem || isa<RankedTensorType>(argument.getType()))
      return unsupported(kernel, "with such an argument");
    Reg reg = builder.newReg(sizeOf(*elem));
    builder.liveFromStart(reg);
    bind(argument, reg);
    builder.code().arguments.push_back({argumentName(argument, sources), *elem, reg.id});
    if (auto pointer = dyn_cast<PtrType>(argument.getType()))
      builder.code().arguments.back().pointee = elemOf(pointer.getPointee()).value_or(Elem::I8);
  }
  return success();
}

LogicalResult Translator::visitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult Translator::visit(Operation *op) {
  if (auto done = visitBuffers(op))
    return *done;
  if (auto done = visitTensors(op))
    return *done;
  for (Type type : op->getResultTypes())
    if (!elemOf(type))
      return unsupported(op, "with such a result");
  if (auto done = visitElementwise(op))
    return *done;
  if (combiner)
    return isa<scf::IfOp>(op) ? visitCombinerIf(cast<scf::IfOp>(op))
                              : unsupported(op, "within a combiner");
  if (auto done = visitShape(op))
    return *done;
  if (auto done = visitSlice(op))
    return *done;
  if (auto done = visitSelection(op))
    return *done;
  if (auto done = visitMemory(op))
    return *done;
  if (auto done = visitControl(op))
    return *done;
  return unsupported(op);
}

Result<std::unique_ptr<Code>> Translator::run(func::FuncOp kernel) {
  builder.code().name = kernel.getName().str();
  if (failed(visitArguments(kernel)) || failed(visitBlock(kernel.getBody().front())))
    return *error;
  std::unique_ptr<Code> code = builder.finish();
  if (!code)
    return makeError(ErrorKind::Resources, "the tiles of this kernel need more than 4 GiB");
  return code;
}

Result<std::unique_ptr<Code>> translateKernel(ModuleOp module, const SourceManager *sources) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (function->hasAttr(names::kernel) && !function.isDeclaration())
      return Translator(sources).run(function);
  return makeError(ErrorKind::Internal, "the module has no kernel");
}

} // namespace pantile::interp
