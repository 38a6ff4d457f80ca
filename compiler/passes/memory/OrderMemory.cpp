//===- OrderMemory.cpp - order accesses to one memory location ---------------------===//
// Needs: tiles without layouts; equal pointers are one value (CSE ran).
// Gives: barriers between accesses to one location whose order matters.
// How:   Each access has a layout of its own. An element that several threads hold is stored by one
//        of them and loaded by all. So program order does not order the threads. Kernels for
//        Triton's first versions exchange values through global memory this way, without barriers.
//        1. A location is a must-alias class of pointer tiles (MustAlias.h). Accesses that overlap
//           otherwise are ordered by the user, with `debug_barrier`.
//        2. A store and a later load or store of the same location need a barrier between them. Two
//           atomics need none.
//        3. A load and a later store need a barrier if the loaded values have another use, and if
//           some thread may not have loaded yet what the store overwrites. That may be so in two
//           cases. Either threads hold copies of elements, since the tile is small or the number of
//           warps is no power of two. Or the stored values do not depend on the loaded ones, so
//           that one thread may store what another one loads. The lanes of one warp are no
//           exception: they may run apart between the instructions that synchronise them.
//        4. Updates in place, whose loaded values have no other use, need none.
//        5. An access that no barrier follows in an iteration counts in the next one if its
//           location is loop-invariant.
//===-------------------------------------------------------------------------------===//
#include "analysis/MustAlias.h"
#include "analysis/StructuredFlow.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ORDERMEMORY
#include "passes/Passes.h.inc"
namespace {

bool isAtomic(Operation *op) { return isa<AtomicRmwOp, AtomicCasOp>(op); }
bool reads(Operation *op) { return isa<LoadOp>(op) || isAtomic(op); }
bool writes(Operation *op) { return isa<StoreOp>(op) || isAtomic(op); }

void insertBarrier(Operation *before) {
  OpBuilder builder(before);
  BarrierOp::create(builder, before->getLoc());
}

/// The operation before which a barrier between `earlier` and `later` goes: outside of the loops
/// and branches that contain only `later`.
Operation *barrierPoint(Operation *earlier, Operation *later) {
  for (Operation *at = earlier; !isa<func::FuncOp>(at); at = at->getParentOp())
    if (Operation *found = at->getBlock()->findAncestorOpInBlock(*later);
        found && at->isBeforeInBlock(found))
      return found;
  return later;
}

/// Accesses since the last barrier.
struct Accesses : llvm::SmallSetVector<Operation *, 8> {
  bool join(const Accesses &others) {
    const size_t before = size();
    insert(others.begin(), others.end());
    return size() != before;
  }
};

class Orderer : public StructuredFlow<Accesses> {
public:
  explicit Orderer(func::FuncOp function)
      : aliases(function), threads(32 * moduleInt(function, names::numWarps, 1)) {}

  /// Inserts barriers until each pair that needs one has it.
  void run(func::FuncOp function) {
    do {
      hasInserted = false;
      Accesses since;
      visit(function.getBody(), since);
    } while (hasInserted);
  }

private:
  void visitOp(Operation *op, Accesses &since) override {
    if (isa<BarrierOp>(op))
      since.clear();
    if (hasInserted || !aliases.classOf(op))
      return;
    for (Operation *earlier : since)
      if (aliases.classOf(earlier) == aliases.classOf(op) && needsBarrier(earlier, op)) {
        hasInserted = true;
        return insertBetween(earlier, op);
      }
    since.insert(op);
  }

  /// Only an access whose location is the same in each iteration counts in the next one, and after
  /// the loop.
  Accesses across(const Accesses &since, ValueRange, ValueRange, Operation *left) override {
    Accesses visible = since;
    if (isa_and_nonnull<LoopLikeOpInterface>(left))
      visible.remove_if([&](Operation *access) { return !aliases.isLoopInvariant(access, left); });
    return visible;
  }

  bool needsBarrier(Operation *earlier, Operation *later) {
    if (isAtomic(earlier) && isAtomic(later))
      return false;
    if (writes(earlier) && reads(later))
      return true;
    if (!writes(later) || earlier == later)
      return false;
    return writes(earlier) || mayOvertake(later, earlier);
  }

  /// Whether `store` may overwrite what some thread has not loaded yet for another use.
  bool mayOvertake(Operation *store, Operation *load) {
    SetVector<Operation *> followers;
    getForwardSlice(load, &followers);
    const bool isUsedElsewhere = llvm::any_of(followers, [&](Operation *op) {
      return op != store && (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>() ||
                             !isMemoryEffectFree(op));
    });
    auto tile = dyn_cast<ShapedType>(load->getResult(0).getType());
    // Some of a number of warps that is no power of two may be copies of others, whatever the tile.
    const bool hasCopies =
        !tile || tile.getNumElements() <= threads || !llvm::isPowerOf2_64(threads);
    return isUsedElsewhere && (hasCopies || !followers.contains(store));
  }

  void insertBetween(Operation *earlier, Operation *later) {
    insertBarrier(barrierPoint(earlier, later));
    // The next iteration's store comes after this one's load.
    if (isa<StoreOp>(earlier) && isa<LoadOp>(later) && earlier->getBlock() == later->getBlock() &&
        isa<LoopLikeOpInterface>(later->getParentOp()) && earlier->isBeforeInBlock(later))
      insertBarrier(earlier);
  }

  MustAlias aliases;
  int64_t threads;
  bool hasInserted = false; ///< a barrier, after which the walk begins again
};

struct OrderMemoryPass : impl::OrderMemoryBase<OrderMemoryPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Orderer(function).run(function);
  }
};
} // namespace
} // namespace pantile
