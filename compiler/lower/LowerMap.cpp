//===- LowerMap.cpp - functions and PTX on every element, assumptions, special registers ------===//
// Needs: operands and results of a map or a PTX statement in one layout.
// Gives: the lowering of tile.map, tile.inline_asm, tile.assume and tile.special.
// How:   The body of a map is emitted once per `pack` registers; if it branches, the warp
//        reconverges after it. Elements of less than 32 bits are packed into registers for PTX; the
//        letter of a constraint says what type a register has.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
//===- map -----------------------------------------------------------------------------===//

/// Registers [first, first + pack) of a tile; the last one again where it has fewer.
Values group(ValueList values, size_t first, size_t pack) {
  Values result;
  for (size_t i = 0; i < pack; ++i)
    result.push_back(values[std::min(first + i, values.size() - 1)]);
  return result;
}

LogicalResult lowerMap(Lowering &l, MapOp op) {
  const size_t pack = op.getPack(), count = l.count(op.getSrcs()[0].getType());
  const bool branches =
      llvm::any_of(op.getBody().front(), [](Operation &o) { return o.getNumRegions() > 0; });
  std::vector<Values> results(op.getNumResults());
  const Type tile = op.getSrcs()[0].getType();
  if (branches && isa<RankedTensorType>(tile) && l.layout(tile).hasPartialRegs())
    return op.emitError("a function with branches cannot be mapped over ")
           << tile << ": threads do not divide its extents";
  for (size_t first = 0; first < count; first += pack) {
    if (!l.isPresent(tile, first)) {
      for (auto [result, values] : llvm::zip_equal(op.getResults(), results))
        values.append(std::min(pack, count),
                      llvm::PoisonValue::get(l.type(elementTypeOf(result.getType()))));
      continue;
    }
    Values arguments;
    for (Value src : op.getSrcs())
      arguments.append(group(l.get(src), first, pack));
    auto yields = l.inlineRegion(op.getBody(), arguments);
    if (failed(yields))
      return failure();
    for (size_t i = 0; i < results.size(); ++i)
      for (size_t j = 0; j < std::min(pack, count); ++j)
        results[i].push_back((*yields)[i * pack + j]);
  }
  if (branches)
    l.warpBarrier();
  for (auto [result, values] : llvm::zip_equal(op.getResults(), results))
    l.set(result, values);
  return success();
}

//===- inline PTX ----------------------------------------------------------------------===//

/// The type that a constraint's letter stands for; null for an unknown letter.
llvm::Type *typeOf(Lowering &l, char letter) {
  switch (letter) {
  case 'b':
    return l.b.getInt1Ty();
  case 'h':
  case 'c':
    return l.b.getInt16Ty();
  case 'r':
    return l.b.getInt32Ty();
  case 'l':
    return l.b.getInt64Ty();
  case 'q':
    return l.b.getInt128Ty();
  case 'f':
    return l.b.getFloatTy();
  case 'd':
    return l.b.getDoubleTy();
  default:
    return nullptr;
  }
}

llvm::Value *convert(Lowering &l, llvm::Value *word, llvm::Type *to) {
  if (word->getType() == to)
    return word;
  const unsigned from = word->getType()->getPrimitiveSizeInBits(),
                 bits = to->getPrimitiveSizeInBits();
  llvm::Value *integer = l.b.CreateBitCast(word, l.b.getIntNTy(from));
  return l.b.CreateBitCast(l.b.CreateZExtOrTrunc(integer, l.b.getIntNTy(bits)), to);
}

/// Outputs, inputs and the rest of a list of constraints.
struct Constraints {
  SmallVector<llvm::Type *> outputs, inputs;
  std::string text;
  bool isKnown = true;
};

Constraints parseConstraints(Lowering &l, StringRef text) {
  Constraints result;
  SmallVector<StringRef> parts, kept;
  text.split(parts, ',');
  for (StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      continue;
    kept.push_back(part);
    if (part.starts_with("~"))
      continue;
    const bool isOutput = part.consume_front("=");
    part.consume_front("&");
    // A digit ties an input to that output.
    unsigned tied;
    llvm::Type *type = nullptr;
    if (!isOutput && !part.getAsInteger(10, tied))
      type = tied < result.outputs.size() ? result.outputs[tied] : nullptr;
    else
      type = part.empty() ? nullptr : typeOf(l, part.back());
    result.isKnown &= type != nullptr;
    (isOutput ? result.outputs : result.inputs).push_back(type);
  }
  result.text = llvm::join(kept, ",");
  return result;
}

/// Emits one statement for `pack` elements of every operand.
FailureOr<Values> emitStatement(Lowering &l, InlineAsmOp op, const Constraints &constraints,
                                size_t first) {
  const size_t pack = op.getPack();
  Values words;
  for (Value arg : op.getArgs()) {
    const unsigned bits = storageBits(elementTypeOf(arg.getType()));
    // Words of at most 32 bits, several where the elements fill more than one.
    words.append(l.pack(group(l.get(arg), first, pack), bits));
  }
  if (words.size() != constraints.inputs.size())
    return op.emitError("the constraints have ")
           << constraints.inputs.size() << " inputs, and the operands fill " << words.size()
           << " registers";
  for (auto [word, type] : llvm::zip_equal(words, constraints.inputs))
    word = convert(l, word, type);
  llvm::Type *type = constraints.outputs.empty() ? l.b.getVoidTy() : constraints.outputs[0];
  if (constraints.outputs.size() > 1)
    type = llvm::StructType::get(l.module.getContext(), constraints.outputs);
  llvm::CallInst *call = l.assembly(type, op.getText(), constraints.text, words, op.getPure());
  return constraints.outputs.empty() ? Values() : l.results(call, constraints.outputs.size());
}

LogicalResult lowerInlineAsm(Lowering &l, InlineAsmOp op) {
  const Constraints constraints = parseConstraints(l, op.getConstraints());
  if (!constraints.isKnown)
    return op.emitError("unknown constraint in \"") << op.getConstraints() << "\"";
  const size_t pack = op.getPack();
  Type shaped = op->getNumOperands()  ? op->getOperand(0).getType()
                : op->getNumResults() ? op->getResult(0).getType()
                                      : Type();
  const size_t count = shaped ? l.count(shaped) : 1;
  std::vector<Values> results(op.getNumResults());
  if (shaped && isa<RankedTensorType>(shaped) && !op.getPure() && l.layout(shaped).hasPartialRegs())
    return op.emitError("PTX with side effects cannot be mapped over ")
           << shaped << ": threads do not divide its extents";
  for (size_t first = 0; first < count; first += pack) {
    if (shaped && !l.isPresent(shaped, first)) {
      for (auto [result, values] : llvm::zip_equal(op.getResults(), results))
        values.append(std::min(pack, count),
                      llvm::PoisonValue::get(l.type(elementTypeOf(result.getType()))));
      continue;
    }
    auto words = emitStatement(l, op, constraints, first);
    if (failed(words))
      return failure();
    size_t next = 0;
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      Type element = elementTypeOf(result.getType());
      const unsigned bits = storageBits(element), wordBits = Lowering::wordBits(bits, pack);
      const size_t many = pack * bits / wordBits;
      Values mine;
      for (size_t j = 0; j < many; ++j, ++next)
        mine.push_back(convert(l, (*words)[next], l.b.getIntNTy(wordBits)));
      Values elements = l.unpack(mine, l.type(element), bits, pack);
      for (size_t j = 0; j < std::min(pack, count); ++j)
        results[i].push_back(elements[j]);
    }
  }
  for (auto [result, values] : llvm::zip_equal(op.getResults(), results))
    l.set(result, values);
  return success();
}

//===- assumptions and special registers -----------------------------------------------===//

LogicalResult lowerAssume(Lowering &l, AssumeOp op) {
  l.b.CreateAssumption(l.scalar(op.getCondition()));
  return success();
}

LogicalResult lowerSpecial(Lowering &l, SpecialOp op) {
  if (op.getName() == "globaltimer")
    l.set(op.getResult(), {l.assembly(l.b.getInt64Ty(), "mov.u64 $0, %globaltimer;", "=l", {})});
  else if (op.getName() == "smid")
    l.set(op.getResult(), {l.assembly(l.b.getInt32Ty(), "mov.u32 $0, %smid;", "=r", {})});
  else if (!l.target.hasTma())
    return op.emitError("`") << op.getName() << "` is not supported on " << l.target.name();
  else
    l.assembly(l.b.getVoidTy(),
               op.getName() == "gdc_wait" ? "griddepcontrol.wait;"
                                          : "griddepcontrol.launch_dependents;",
               "", {});
  return success();
}
} // namespace

void lower::addMap(Handlers &h) {
  h.add<MapOp>(lowerMap);
  h.add<InlineAsmOp>(lowerInlineAsm);
  h.add<AssumeOp>(lowerAssume);
  h.add<SpecialOp>(lowerSpecial);
}
