//===- LowerAtomic.cpp - atomic operations on global memory -----------------------------------===//
// Needs: pointers, values and mask in one layout.
// Gives: one atom or red instruction a register, done by one thread among replicas.
// How:   predicated inline assembly. Where replicas need the old value, the thread that did the
//        operation leaves it in scratch and all read it after a barrier.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// ".add.noftz.f16": operation and type, empty when there is no such instruction.
std::string suffixOf(Lowering &l, RmwKind kind, Type element) {
  const unsigned bits = storageBits(element);
  const std::string width = std::to_string(bits);
  switch (kind) {
  case RmwKind::FAdd:
    if (element.isF16())
      return ".add.noftz.f16";
    if (element.isBF16())
      return l.target.hasBf16Arithmetic() ? ".add.noftz.bf16" : "";
    return ".add.f" + width;
  case RmwKind::Add:
    return bits >= 32 ? ".add.u" + width : "";
  case RmwKind::Max:
  case RmwKind::Min:
    return bits >= 32 ? "." + stringifyRmwKind(kind).str() + ".s" + width : "";
  case RmwKind::UMax:
    return bits >= 32 ? ".max.u" + width : "";
  case RmwKind::UMin:
    return bits >= 32 ? ".min.u" + width : "";
  case RmwKind::And:
  case RmwKind::Or:
  case RmwKind::Xor:
    return bits >= 32 ? "." + stringifyRmwKind(kind).str() + ".b" + width : "";
  case RmwKind::Xchg:
    return bits >= 32 ? ".exch.b" + width : "";
  }
  return "";
}

const char *constraintOf(unsigned bits) { return bits == 64 ? "l" : bits == 32 ? "r" : "h"; }

std::string orderOf(MemSemantic sem, MemScope scope) {
  return "." + stringifyMemSemantic(sem).str() + "." + stringifyMemScope(scope).str() + ".global";
}

/// One instruction on integers of `bits`; gives the old value, or null for `red`.
llvm::Value *emitAtomic(Lowering &l, const std::string &name, unsigned bits, llvm::Value *ptr,
                        ValueList operands, llvm::Value *mask, bool givesOld) {
  const std::string c = constraintOf(bits);
  Values all{ptr};
  std::string constraints = givesOld ? "=" + c + ",l" : "l";
  int next = givesOld ? 1 : 0;
  std::string text = name + (givesOld ? " $0, [$1]" : " [$0]");
  for (llvm::Value *operand : operands) {
    all.push_back(l.toInteger(operand, bits));
    constraints += "," + c;
    text += ", $" + std::to_string(++next);
  }
  text += ";";
  if (mask) {
    text = "@$" + std::to_string(++next) + " " + text;
    all.push_back(mask);
    constraints += ",b";
  }
  if (givesOld) { // masked-off lanes give 0
    all.push_back(l.b.getIntN(bits, 0));
    constraints += ",0";
  }
  return l.assembly(givesOld ? l.b.getIntNTy(bits) : l.b.getVoidTy(), text, constraints, all);
}

/// The byte offsets of all registers' old values in scratch.
Values scratchOffsets(Lowering &l, Type type, int64_t start, int64_t bytes) {
  if (!isa<RankedTensorType>(type))
    return {l.b.getInt32(start)};
  const LinearLayout &layout = l.layout(type);
  LinearLayout::Shape flatShape{1};
  for (int64_t extent : layout.shape())
    flatShape[0] *= extent;
  const LinearLayout flat = layout.reshape(flatShape);
  const SharedLayout shared(flatShape, bytes * 8, {0}, 0);
  return l.sharedOffsets(l.b.getInt32(start), shared, flat);
}

/// Old values from the threads that have them to all replicas.
LogicalResult setOldValues(Lowering &l, Operation *op, Values olds, llvm::Value *chosen,
                           unsigned replicas) {
  Value result = op->getResult(0);
  Type element = elementTypeOf(result.getType());
  const unsigned bits = storageBits(element);
  for (size_t i = 0; i < olds.size(); ++i)
    if (!olds[i])
      olds[i] = olds[i & ~replicas];
  if (chosen) {
    auto scratch = l.scratch(op);
    if (failed(scratch))
      return failure();
    Values offsets = scratchOffsets(l, result.getType(), *scratch, bits / 8);
    const std::string store = "@$2 st.shared.b" + std::to_string(bits) + " [$0], $1;";
    for (auto [offset, old] : llvm::zip_equal(offsets, olds))
      l.assembly(l.b.getVoidTy(), store, std::string("r,") + constraintOf(bits) + ",b",
                 {l.sharedAddress(offset), old, chosen});
    l.barrier();
    l.set(result, l.loadShared(l.type(element), bits, offsets, bits / 8));
    return success();
  }
  for (llvm::Value *&old : olds)
    old = l.fromInteger(old, l.type(element));
  l.set(result, olds);
  return success();
}

/// `operandsOf` gives the value operands of a register.
LogicalResult lowerAtomic(Lowering &l, Operation *op, Value ptr, Value mask,
                          const std::string &name, unsigned bits, bool givesOld,
                          llvm::function_ref<Values(int)> operandsOf) {
  ValueList ptrs = l.get(ptr);
  ValueList masks = mask ? l.get(mask) : ValueList();
  llvm::Value *chosen = l.firstReplica(ptr.getType());
  const unsigned replicas =
      isa<RankedTensorType>(ptr.getType()) ? l.layout(ptr.getType()).freeBits().reg : 0;
  Values olds;
  for (size_t i = 0; i < ptrs.size(); ++i) {
    if (i & replicas) {
      olds.push_back(nullptr);
      continue;
    }
    llvm::Value *predicate = masks.empty() ? chosen
                             : chosen      ? l.b.CreateAnd(masks[i], chosen)
                                           : masks[i];
    olds.push_back(emitAtomic(l, name, bits, ptrs[i], operandsOf(i), predicate, givesOld));
  }
  return givesOld && !op->getResult(0).use_empty() ? setOldValues(l, op, olds, chosen, replicas)
                                                   : success();
}

LogicalResult lowerRmw(Lowering &l, AtomicRmwOp op) {
  Type element = elementTypeOf(op.getValue().getType());
  const std::string suffix = suffixOf(l, op.getKind(), element);
  if (suffix.empty())
    return op.emitError("no atomic `")
           << stringifyRmwKind(op.getKind()) << "` of " << element << " on " << l.target.name();
  // `red` has no old value to wait for, and orders like a relaxed or releasing atomic.
  const bool reduces = op.getResult().use_empty() && op.getKind() != RmwKind::Xchg &&
                       (op.getSem() == MemSemantic::Relaxed || op.getSem() == MemSemantic::Release);
  const std::string name =
      (reduces ? "red" : "atom") + orderOf(op.getSem(), op.getScope()) + suffix;
  return lowerAtomic(l, op, op.getPtr(), op.getMask(), name, storageBits(element), !reduces,
                     [&](int i) -> Values { return {l.get(op.getValue())[i]}; });
}

LogicalResult lowerCas(Lowering &l, AtomicCasOp op) {
  Type element = elementTypeOf(op.getValue().getType());
  const unsigned bits = storageBits(element);
  if (bits < 16)
    return op.emitError("no atomic compare-and-swap of ") << element;
  const std::string name =
      "atom" + orderOf(op.getSem(), op.getScope()) + ".cas.b" + std::to_string(bits);
  return lowerAtomic(l, op, op.getPtr(), Value(), name, bits, true, [&](int i) -> Values {
    return {l.get(op.getCmp())[i], l.get(op.getValue())[i]};
  });
}
} // namespace

void lower::addAtomics(Handlers &h) {
  h.add<AtomicRmwOp>(lowerRmw);
  h.add<AtomicCasOp>(lowerCas);
}
