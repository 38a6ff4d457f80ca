//===- EarlierEffect.cpp - see EarlierEffect.h ---------------------------------------------===//
// How:   what writes memory or synchronises with other threads orders loads, but for two kinds of
//        operations: stores through other arguments where the user lets the iterations of a loop
//        around overlap, and atomics that have no order with the loads (docs/memory-order.md). Stores
//        of the loop itself, if no other one is around it, are passed where the caller says so, as
//        copies by all warps pass them.
//===--------------------------------------------------------------------------------------===//
#include "analysis/EarlierEffect.h"
#include "analysis/PrefetchLegality.h"
#include "analysis/Programs.h"
#include "analysis/StagedLoad.h"
#include "ir/FindOps.h"

using namespace mlir;

namespace pantile {
namespace names {
constexpr llvm::StringLiteral flatten = "tile.flatten";                // of tl.range, on scf.for
constexpr llvm::StringLiteral warpSpecialize = "tile.warp_specialize"; // the same
} // namespace names

namespace {
/// Whether the address of `ptr` is not computed from `argument`, but from another one or from a
/// table in memory.
bool isElsewhere(Value ptr, Value argument) {
  const Value base = baseOf(ptr);
  auto cast = base.getDefiningOp<IntToPtrOp>();
  return isKernelArgument(base) ? base != argument
                                : cast && cast->getOperand(0).getDefiningOp<LoadOp>();
}

/// Whether `op` is a store through another argument than the loop's loads, in an outer loop whose
/// source has `flatten` or `warp_specialize`: the user then allows its iterations to overlap, and
/// Triton moves loads before such a store, too.
bool isHintedNoAlias(Operation *op, scf::ForOp loop, ArrayRef<Value> bases,
                     ArrayRef<AtomicRmwOp> polls) {
  auto store = dyn_cast<StoreOp>(op);
  Value target = store ? baseOf(store.getPtr()) : Value();
  if (!store || !isKernelArgument(target) || llvm::is_contained(bases, target) ||
      !llvm::all_of(polls, [&](AtomicRmwOp poll) { return isElsewhere(poll.getPtr(), target); }))
    return false;
  for (auto around = loop->getParentOfType<scf::ForOp>(); around;
       around = around->getParentOfType<scf::ForOp>())
    if (around->isAncestor(op) &&
        (around->hasAttr(names::flatten) || around->hasAttr(names::warpSpecialize)))
      return true;
  return false;
}
} // namespace

Operation *earlierEffect(func::FuncOp kernel, const ProducerStart &start, scf::ForOp loop,
                         ArrayRef<Value> bases, ArrayRef<AtomicRmwOp> polls, bool pastStores) {
  Block &program = programBody(kernel);
  Operation *repeated = loop; // with what follows the loop in there
  for (Operation *op = loop; op->getBlock() != &program; op = op->getParentOp())
    if (isa<scf::ForOp>(op->getParentOp()))
      repeated = op->getParentOp();
  auto isUnordered = [&](Operation *op) {
    return polls.empty() &&
           llvm::all_of(bases, [&](Value base) { return isNoAliasAtomic(op, base); });
  };
  const bool passesOwn = pastStores && polls.empty() && repeated == loop;
  auto isPassed = [&](Operation *op) {
    return passesOwn && isa<StoreOp>(op) && loop->isAncestor(op) &&
           llvm::all_of(bases, [&](Value base) { return isNoAliasStore(loop, op, base); });
  };
  auto orders = [&](Operation *op) {
    const bool isOfProducer =
        isa<AtomicRmwOp>(op) && llvm::is_contained(polls, cast<AtomicRmwOp>(op));
    return !isOfProducer && ordersLoads(op) && !isHintedNoAlias(op, loop, bases, polls) &&
           !isUnordered(op) && !isPassed(op);
  };
  if (Operation *effect = findOp(repeated, orders))
    return effect;
  for (Operation *at = repeated;; at = at->getParentOp()) {
    for (Operation *op = at->getPrevNode(); op && op != start.after; op = op->getPrevNode())
      if (Operation *effect = findOp(op, orders))
        return effect;
    if (at->getBlock() == &program || at->getBlock() == start.block)
      return nullptr;
  }
}

} // namespace pantile
