//===- OrderMemory.cpp - let accesses to one place happen in the order of the program -===//
// Needs: tiles without layouts; equal pointers are one value (CSE ran).
// Gives: all threads meet between a store and a later load or store of the same place, and between
//        a load and a later store where a warp may still have to load what is overwritten.
// How:   each access has a layout of its own, and elements that several threads hold are stored by
//        one of them and loaded by all, so the order of the program does not order the threads.
//        Kernels of Triton's first versions send values through scratch memory this way and have no
//        barrier. A place is one tile of pointers (SamePlaces.h): other ways to the same bytes are
//        ordered by the user, with `debug_barrier`. In front of a store a barrier stands where what
//        was loaded is used for anything else, and either few elements are loaded, so that warps
//        hold copies, or what is stored does not follow from them, so that another thread may store
//        an element than loads it. Updates in place stay as they are. What an iteration left
//        undone counts in the next one for places that are the same in both.
//===------------------------------------------------------------------------------------===//
#include "analysis/SamePlaces.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// The operation in front of which threads meet that must do so between `earlier` and `later`:
/// outside of the loops and branches that hold `later` alone.
Operation *meetingPoint(Operation *earlier, Operation *later) {
  for (Operation *at = earlier; !isa<func::FuncOp>(at); at = at->getParentOp())
    if (Operation *found = at->getBlock()->findAncestorOpInBlock(*later);
        found && at->isBeforeInBlock(found))
      return found;
  return later;
}

class Orderer {
public:
  explicit Orderer(func::FuncOp function)
      : places(function), threads(32 * moduleInt(function, names::numWarps, 1)) {}

  /// Until each pair that must meet does so.
  void run(func::FuncOp function) {
    for (bool inserted = true; inserted;) {
      Accesses since;
      inserted =
          llvm::any_of(function.getBody(), [&](Block &block) { return order(block, since); });
    }
  }

private:
  using Accesses = llvm::SmallSetVector<Operation *, 8>; ///< since threads met last

  /// True, and nothing more, once a barrier was inserted.
  bool order(Block &block, Accesses &since) {
    for (Operation &op : block) {
      if (isa<BarrierOp>(op))
        since.clear();
      else if (op.getNumRegions() != 0 ? orderRegions(&op, since) : orderAccess(&op, since))
        return true;
    }
    return false;
  }

  bool orderRegions(Operation *op, Accesses &since) {
    const bool isLoop = isa<LoopLikeOpInterface>(op);
    const bool mayDoNothing =
        isLoop || llvm::any_of(op->getRegions(), [](Region &region) { return region.empty(); });
    Accesses after = mayDoNothing ? since : Accesses();
    for (int round = 0; round < (isLoop ? 2 : 1); ++round) {
      Accesses in = since;
      if (round == 1)
        for (Operation *access : after)
          if (places.isSameInEachRound(access, op))
            in.insert(access);
      for (Region &region : op->getRegions()) {
        Accesses here = in;
        for (Block &block : region)
          if (order(block, here))
            return true;
        after.insert(here.begin(), here.end());
        if (isLoop) // of a `while`, what tests stands in front of what it repeats
          in = here;
      }
    }
    since = after;
    return false;
  }

  bool orderAccess(Operation *op, Accesses &since) {
    if (!places.of(op))
      return false;
    for (Operation *earlier : since)
      if (places.of(earlier) == places.of(op) && mustMeet(earlier, op))
        return meetBetween(earlier, op), true;
    since.insert(op);
    return false;
  }

  bool mustMeet(Operation *earlier, Operation *later) {
    if (isAtomic(earlier) && isAtomic(later))
      return false;
    if (writes(earlier) && reads(later))
      return true;
    if (!writes(later) || earlier == later)
      return false;
    // The lanes of one warp load together, but nothing orders what two of them store.
    return writes(earlier) || (threads > 32 && mayOvertake(later, earlier));
  }

  /// Whether `store` may overwrite what some warp has yet to load for another use.
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

  void meetBetween(Operation *earlier, Operation *later) {
    insertBarrier(meetingPoint(earlier, later));
    // The next round's store stays behind this one's load.
    if (isa<StoreOp>(earlier) && isa<LoadOp>(later) && earlier->getBlock() == later->getBlock() &&
        isa<LoopLikeOpInterface>(later->getParentOp()) && earlier->isBeforeInBlock(later))
      insertBarrier(earlier);
  }

  SamePlaces places;
  int64_t threads;
};

struct OrderRoundTripsPass : impl::OrderMemoryBase<OrderRoundTripsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Orderer(function).run(function);
  }
};
} // namespace
} // namespace pantile
