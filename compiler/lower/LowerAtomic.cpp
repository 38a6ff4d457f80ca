//===- LowerAtomic.cpp - atomic operations on global memory -----------------------------------===//
// Needs: pointers, values and mask in one layout.
// Gives: atom and red instructions, strong ld and st, executed by one thread per element.
// How:   Predicated inline assembly. Additions whose result is unused become vector `red`s if
//        elements that are contiguous in memory are in one thread. If replicas need the old value,
//        the thread that executed the operation stores it in scratch and all load it after a
//        barrier. A releasing scalar atomic is preceded by a barrier, so that it releases the
//        writes of all threads, as a lock needs; an acquiring one is followed by a barrier. The
//        same holds for tiles of flags: atomic stores and loads, and atomics of system scope.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "support/MachineModel.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

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
      return ".add.noftz.bf16";
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
  case RmwKind::Load:
  case RmwKind::Store:
  case RmwKind::Poll:
    return ".b" + width;
  }
  return "";
}

std::string orderOf(MemSemantic sem, MemScope scope) {
  return "." + stringifyMemSemantic(sem).str() + "." + stringifyMemScope(scope).str() + ".global";
}

/// `value`, widened if it has 8 bits: inline assembly has no such registers.
llvm::Value *inRegister(Lowering &l, llvm::Value *value) {
  return value->getType()->isIntegerTy(8) ? l.b.CreateZExt(value, l.b.getInt16Ty()) : value;
}

/// Emits one instruction on integers of `bits`; returns the old value, or null for `red` and `st`.
llvm::Value *emitAtomic(Lowering &l, const std::string &name, unsigned bits, llvm::Value *ptr,
                        ValueList operands, llvm::Value *mask, bool givesOld) {
  const std::string c = constraintOf(bits);
  Values all{ptr};
  std::string constraints = givesOld ? "=" + c + ",l" : "l";
  int next = givesOld ? 1 : 0;
  std::string asmString = name + (givesOld ? " $0, [$1]" : " [$0]");
  for (llvm::Value *operand : operands) {
    all.push_back(inRegister(l, l.toInteger(operand, bits)));
    constraints += "," + c;
    asmString += ", $" + std::to_string(++next);
  }
  asmString += ";";
  if (mask) {
    asmString = "@$" + std::to_string(++next) + " " + asmString;
    all.push_back(mask);
    constraints += ",b";
  }
  if (givesOld) { // 0 in masked-off lanes
    all.push_back(inRegister(l, l.b.getIntN(bits, 0)));
    constraints += ",0";
  }
  llvm::Value *old =
      l.assembly(givesOld ? all.back()->getType() : l.b.getVoidTy(), asmString, constraints, all);
  return givesOld && bits == 8 ? l.b.CreateTrunc(old, l.b.getInt8Ty()) : old;
}

/// The byte offsets of all registers' old values in scratch.
Values scratchOffsets(Lowering &l, Type type, int64_t start, int64_t bytes) {
  if (!isa<RankedTensorType>(type))
    return {l.b.getInt32(start)};
  const LinearLayout &layout = l.layout(type);
  const LinearLayout hull(layout.hull(), layout.reg(), layout.lane(), layout.warp(),
                          layout.numWarps());
  LinearLayout::Shape flatShape{1};
  for (int64_t extent : hull.shape())
    flatShape[0] *= extent;
  const LinearLayout flat = hull.reshape(flatShape);
  const SharedLayout shared(flatShape, bytes * 8, {0}, 0);
  return l.sharedOffsets(l.b.getInt32(start), shared, flat);
}

/// Broadcasts old values from the threads that have them to all replicas.
LogicalResult setOldValues(Lowering &l, Operation *op, Values olds, llvm::Value *chosen,
                           unsigned replicas) {
  Value result = op->getResult(0);
  Type element = elementTypeOf(result.getType());
  const unsigned bits = storageBits(element);
  for (size_t i = 0; i < olds.size(); ++i)
    if (!olds[i])
      olds[i] = olds[i & ~replicas];
  for (llvm::Value *&old : olds)
    if (!old)
      old = llvm::PoisonValue::get(olds[0]->getType());
  if (chosen) {
    auto scratch = l.scratch(op);
    if (failed(scratch))
      return failure();
    Values offsets = scratchOffsets(l, result.getType(), *scratch, bits / 8);
    const std::string store = "@$2 st.shared.b" + std::to_string(bits) + " [$0], $1;";
    for (auto [offset, old] : llvm::zip_equal(offsets, olds))
      if (!isa<llvm::PoisonValue>(old))
        l.assembly(l.b.getVoidTy(), store, std::string("r,") + constraintOf(bits) + ",b",
                   {l.sharedAddress(offset), inRegister(l, old), chosen});
    l.barrier();
    l.set(result, l.loadShared(l.type(element), bits, offsets, bits / 8));
    return success();
  }
  for (llvm::Value *&old : olds)
    old = l.fromInteger(old, l.type(element));
  l.set(result, olds);
  return success();
}

/// Emits one access; returns the old value, or null if it is unused.
using Access = llvm::function_ref<llvm::Value *(llvm::Value *ptr, int reg, llvm::Value *mask)>;

/// Whether an operation orders the accesses of all threads of the CTA, not only of the threads that
/// execute it. Read-modify-writes of tiles within a GPU are mostly counters, not flags, so they do
/// not.
bool isOrderedForCta(Value ptr, RmwKind kind, MemScope scope) {
  return !isa<RankedTensorType>(ptr.getType()) || scope == MemScope::Sys ||
         kind == RmwKind::Store || kind == RmwKind::Load;
}

/// The barriers and fences around the accesses of one operation. An operation that orders the CTA
/// has a barrier before it. A thread with several elements has one fence before and one after them,
/// instead of ordered instructions.
class Ordered {
public:
  Ordered(Lowering &l, Value ptr, MemSemantic sem, MemScope scope, RmwKind kind)
      : l(l), sem(sem), scope(scope), fenced(hasSeveral(ptr.getType())),
        needsBarrier(isOrderedForCta(ptr, kind, scope)),
        isTile(isa<RankedTensorType>(ptr.getType())) {
    const bool releases = sem == MemSemantic::Release || sem == MemSemantic::AcqRel;
    if (releases && needsBarrier)
      l.barrier();
    if (releases && fenced)
      fence();
  }
  /// The ordering that the instructions themselves have.
  MemSemantic own() const { return fenced ? MemSemantic::Relaxed : sem; }
  std::string modifiers() const { return orderOf(own(), scope); }
  LogicalResult finish(LogicalResult result) {
    const bool acquires = sem == MemSemantic::Acquire || sem == MemSemantic::AcqRel;
    if (acquires && fenced)
      fence();
    if (acquires && needsBarrier && isTile) // the old value of a scalar comes through a barrier
      l.barrier();
    return result;
  }

private:
  bool hasSeveral(Type ptr) {
    if (!isa<RankedTensorType>(ptr) || sem == MemSemantic::Relaxed)
      return false;
    const LinearLayout &layout = l.layout(ptr);
    return layout.numRegs() >> llvm::popcount(layout.freeBits().reg) > 1;
  }
  void fence() {
    l.assembly(l.b.getVoidTy(), "fence.acq_rel." + stringifyMemScope(scope).str() + ";", "", {});
  }

  Lowering &l;
  const MemSemantic sem;
  const MemScope scope;
  const bool fenced, needsBarrier, isTile;
};

/// Emits `access` for every register that is no replica.
LogicalResult lowerAtomic(Lowering &l, Operation *op, Value ptr, Value mask, bool givesOld,
                          Access access) {
  ValueList ptrs = l.get(ptr);
  ValueList masks = mask ? l.get(mask) : ValueList();
  llvm::Value *chosen = l.firstReplica(ptr.getType());
  const unsigned replicas =
      isa<RankedTensorType>(ptr.getType()) ? l.layout(ptr.getType()).freeBits().reg : 0;
  Values olds;
  const Values inside = l.inside(ptr.getType());
  for (size_t i = 0; i < ptrs.size(); ++i) {
    if (i & replicas || !l.isPresent(ptr.getType(), i)) {
      olds.push_back(nullptr);
      continue;
    }
    llvm::Value *predicate = masks.empty() ? chosen
                             : chosen      ? l.b.CreateAnd(masks[i], chosen)
                                           : masks[i];
    predicate = l.masked(predicate, inside[i]);
    olds.push_back(access(ptrs[i], i, predicate));
  }
  return givesOld && !op->getResult(0).use_empty() ? setOldValues(l, op, olds, chosen, replicas)
                                                   : success();
}

/// Adds 16-bit floats where there is no such instruction: a compare-and-swap loop.
llvm::Value *addByExchange(Lowering &l, const std::string &cas, llvm::Value *ptr,
                           llvm::Value *value, llvm::Value *mask) {
  auto &b = l.b;
  llvm::BasicBlock *before = b.GetInsertBlock(), *start = l.newBlock("load"),
                   *loop = l.newBlock("exchange"), *done = l.newBlock("done");
  b.CreateCondBr(mask ? mask : b.getTrue(), start, done);
  b.SetInsertPoint(start);
  llvm::Value *first =
      b.CreateAlignedLoad(b.getInt16Ty(), ptr, llvm::Align(2), /*isVolatile=*/true);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode *seen = b.CreatePHI(b.getInt16Ty(), 2);
  seen->addIncoming(first, start);
  llvm::Value *wide = b.CreateFPExt(b.CreateBitCast(seen, value->getType()), b.getFloatTy());
  llvm::Value *sum = b.CreateFAdd(wide, b.CreateFPExt(value, b.getFloatTy()));
  llvm::Value *next = b.CreateBitCast(b.CreateFPTrunc(sum, value->getType()), b.getInt16Ty());
  llvm::Value *old = emitAtomic(l, cas, 16, ptr, {seen, next}, nullptr, true);
  seen->addIncoming(old, loop);
  b.CreateCondBr(b.CreateICmpEQ(old, seen), done, loop);
  b.SetInsertPoint(done);
  llvm::PHINode *result = b.CreatePHI(b.getInt16Ty(), 2);
  result->addIncoming(b.getInt16(0), before);
  result->addIncoming(old, loop);
  return result;
}

/// Number of elements that one `red` adds to: contiguous ones, at most 16 bytes.
int vectorOf(Lowering &l, AtomicRmwOp op, Type element) {
  constexpr int64_t mostBits = 8 * InstructionSet::vectorBytes;
  const int bits = storageBits(element);
  if (op.getKind() != RmwKind::FAdd || bits > 32 || !l.target.hasVectorReductions() ||
      !isa<RankedTensorType>(op.getPtr().getType()))
    return 1;
  const int64_t width =
      l.axisInfo().accessWidth(op.getPtr(), op.getMask(), l.layout(op.getPtr().getType()));
  return static_cast<int>(std::min<int64_t>(width, mostBits / bits));
}

/// Adds `values` to the elements from `ptr` on.
void addVector(Lowering &l, const std::string &name, unsigned bits, llvm::Value *ptr,
               ValueList values, llvm::Value *mask) {
  Values all{ptr};
  std::string constraints = "l", asmString;
  for (llvm::Value *value : values) {
    all.push_back(l.toInteger(value, bits));
    constraints += std::string(",") + constraintOf(bits);
    asmString += (asmString.empty() ? "$" : ", $") + std::to_string(all.size() - 1);
  }
  asmString = name + " [$0], {" + asmString + "};";
  if (mask) {
    asmString = "@$" + std::to_string(all.size()) + " " + asmString;
    all.push_back(mask);
    constraints += ",b";
  }
  l.assembly(l.b.getVoidTy(), asmString, constraints, all);
}

/// ".add.v4.f32" of ".add.f32", ".add.noftz.v8.f16" of ".add.noftz.f16".
std::string vectorSuffix(StringRef suffix, int width) {
  auto [operation, type] = suffix.rsplit('.');
  return (operation + ".v" + Twine(width) + "." + type).str();
}

/// The same as lowerAtomic, `width` registers at a time, for operations whose result is unused.
LogicalResult addVectors(Lowering &l, AtomicRmwOp op, const std::string &name, int width) {
  const unsigned bits = storageBits(elementTypeOf(op.getValue().getType()));
  ValueList ptrs = l.get(op.getPtr()), values = l.get(op.getValue());
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  llvm::Value *chosen = l.firstReplica(op.getPtr().getType());
  const unsigned replicas = l.layout(op.getPtr().getType()).freeBits().reg;
  const Values inside = l.inside(op.getPtr().getType());
  for (size_t i = 0; i < ptrs.size(); i += width) {
    if (i & replicas || !l.isPresent(op.getPtr().getType(), i))
      continue;
    llvm::Value *mask = masks.empty() ? chosen
                        : chosen      ? l.b.CreateAnd(masks[i], chosen)
                                      : masks[i];
    mask = l.masked(mask, inside[i]);
    addVector(l, name, bits, ptrs[i], values.slice(i, width), mask);
  }
  return success();
}

llvm::Value *nanoseconds(Lowering &l) {
  return l.assembly(l.b.getInt64Ty(), "mov.u64 $0, %globaltimer;", "=l", {});
}

/// Reads until memory holds `expected`, or until the time is `deadline`; returns the last value
/// read.
llvm::Value *readUntil(Lowering &l, const std::string &name, llvm::Value *ptr,
                       llvm::Value *expected, llvm::Value *deadline, llvm::Value *mask) {
  auto &b = l.b;
  const unsigned bits = expected->getType()->getIntegerBitWidth();
  llvm::BasicBlock *before = b.GetInsertBlock();
  auto *loop = l.newBlock("poll");
  auto *done = l.newBlock("done");
  b.CreateCondBr(mask ? mask : b.getTrue(), loop, done);
  b.SetInsertPoint(loop);
  llvm::Value *seen = emitAtomic(l, name, bits, ptr, {}, nullptr, true);
  llvm::Value *ends = b.CreateICmpEQ(seen, expected);
  if (deadline)
    ends = b.CreateOr(ends, b.CreateICmpUGE(nanoseconds(l), deadline));
  b.CreateCondBr(ends, done, loop);
  b.SetInsertPoint(done);
  llvm::PHINode *result = b.CreatePHI(seen->getType(), 2);
  result->addIncoming(b.getIntN(bits, 0), before);
  result->addIncoming(seen, loop);
  return result;
}

/// The producer polls in one thread. Its copies are of another proxy than the poll.
LogicalResult pollInProducer(Lowering &l, AtomicRmwOp op, const std::string &name) {
  readUntil(l, name, l.scalar(op.getPtr()), l.scalar(op.getValue()), nullptr, nullptr);
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_fence_proxy_async, {});
  return success();
}

/// Each thread polls its own elements; a barrier follows. Every read has the requested semantics:
/// with relaxed reads a fence would be needed between the last one and the barrier.
LogicalResult lowerPoll(Lowering &l, AtomicRmwOp op) {
  ValueList expected = l.get(op.getValue());
  llvm::Value *deadline = nullptr;
  if (op.getTimeout())
    deadline = l.b.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_sat, nanoseconds(l),
                                         l.scalar(op.getTimeout()));
  const unsigned bits = storageBits(elementTypeOf(op.getValue().getType()));
  const std::string name = "ld" + orderOf(op.getSem(), op.getScope()) + ".b" + std::to_string(bits);
  if (op->getParentOfType<nv::ProducerOp>())
    return pollInProducer(l, op, name);
  LogicalResult result = lowerAtomic(
      l, op, op.getPtr(), Value(), true, [&](llvm::Value *ptr, int reg, llvm::Value *mask) {
        return readUntil(l, name, ptr, expected[reg], deadline, mask);
      });
  l.barrier();
  return result;
}

LogicalResult lowerRmw(Lowering &l, AtomicRmwOp op) {
  if (op.getKind() == RmwKind::Poll)
    return lowerPoll(l, op);
  Type element = elementTypeOf(op.getValue().getType());
  ValueList values = l.get(op.getValue());
  const std::string suffix = suffixOf(l, op.getKind(), element);
  if (suffix.empty())
    return op.emitError("no atomic `")
           << stringifyRmwKind(op.getKind()) << "` of " << element << " on " << l.target.name();
  Ordered order(l, op.getPtr(), op.getSem(), op.getScope(), op.getKind());
  if (op.getKind() == RmwKind::FAdd && element.isBF16() && !l.target.hasBf16Arithmetic()) {
    const std::string cas = "atom" + order.modifiers() + ".cas.b16";
    return order.finish(lowerAtomic(l, op, op.getPtr(), op.getMask(), true,
                                    [&](llvm::Value *ptr, int reg, llvm::Value *mask) {
                                      return addByExchange(l, cas, ptr, values[reg], mask);
                                    }));
  }
  // `red` has no old value to wait for, and orders like a relaxed or releasing atomic.
  const bool isLoad = op.getKind() == RmwKind::Load, isStore = op.getKind() == RmwKind::Store;
  const bool reduces = op.getResult().use_empty() && op.getKind() != RmwKind::Xchg && !isLoad &&
                       (order.own() == MemSemantic::Relaxed || order.own() == MemSemantic::Release);
  if (int width = reduces ? vectorOf(l, op, element) : 1; width > 1)
    return order.finish(
        addVectors(l, op, "red" + order.modifiers() + vectorSuffix(suffix, width), width));
  const char *instruction = isLoad ? "ld" : isStore ? "st" : reduces ? "red" : "atom";
  const std::string name = instruction + order.modifiers() + suffix;
  return order.finish(lowerAtomic(l, op, op.getPtr(), op.getMask(), !reduces,
                                  [&](llvm::Value *ptr, int reg, llvm::Value *mask) {
                                    return emitAtomic(l, name, storageBits(element), ptr,
                                                      isLoad ? ValueList() : values[reg], mask,
                                                      !reduces);
                                  }));
}

LogicalResult lowerCas(Lowering &l, AtomicCasOp op) {
  Type element = elementTypeOf(op.getValue().getType());
  const unsigned bits = storageBits(element);
  if (bits < 16)
    return op.emitError("no atomic compare-and-swap of ") << element;
  ValueList expected = l.get(op.getCmp()), values = l.get(op.getValue());
  Ordered order(l, op.getPtr(), op.getSem(), op.getScope(), RmwKind::Xchg);
  const std::string name = "atom" + order.modifiers() + ".cas.b" + std::to_string(bits);
  return order.finish(lowerAtomic(
      l, op, op.getPtr(), Value(), true, [&](llvm::Value *ptr, int reg, llvm::Value *mask) {
        return emitAtomic(l, name, bits, ptr, {expected[reg], values[reg]}, mask, true);
      }));
}
} // namespace

void lower::addAtomics(Handlers &h) {
  h.add<AtomicRmwOp>(lowerRmw);
  h.add<AtomicCasOp>(lowerCas);
}
