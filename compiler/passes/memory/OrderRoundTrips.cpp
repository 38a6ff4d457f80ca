//===- OrderRoundTrips.cpp - let a store be seen by the load behind it, not by one before ---===//
// Needs: tiles without layouts; equal pointers are one value (CSE ran).
// Gives: between a store and a later load through the same pointers all threads meet; so they do
//        between a load and a later store where a warp may still have to load what is overwritten.
// How:   elements that several threads hold are stored by one of them and loaded by all, so the
//        order of the program does not order the threads. Kernels of Triton's first versions send
//        values through scratch memory this way and have no barrier. In a loop, a second barrier
//        keeps the next store behind the last load. In front of a store a barrier stands where what
//        was loaded is used again behind it, and either few elements are loaded, so that warps hold
//        copies, or what is stored does not follow from them, so that another thread may store an
//        element than loads it. Updates in place stay as they are. Only pointers that are one value
//        in one block count: other ways to the same bytes are ordered by the user, with
//        `debug_barrier`.
//===------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ORDERROUNDTRIPS
#include "passes/Passes.h.inc"
namespace {

void insertBarrier(Operation *before) {
  OpBuilder builder(before);
  BarrierOp::create(builder, before->getLoc());
}

/// Whether `store` may overwrite what some warp has yet to load for a use behind it.
bool mayOvertake(StoreOp store, LoadOp load, int64_t threads) {
  SetVector<Operation *> followers;
  getForwardSlice(load.getOperation(), &followers);
  Block *block = store->getBlock();
  bool isUsedBehind = llvm::any_of(followers, [&](Operation *op) {
    Operation *inBlock = block->findAncestorOpInBlock(*op);
    return inBlock && store->isBeforeInBlock(inBlock);
  });
  auto tile = dyn_cast<ShapedType>(load.getType());
  bool hasCopies = !tile || tile.getNumElements() <= threads;
  return threads > 32 && isUsedBehind && (hasCopies || !followers.contains(store));
}

class OrderBlock {
public:
  explicit OrderBlock(int64_t threads) : threads(threads) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<BarrierOp>(op))
        forget();
      else if (auto store = dyn_cast<StoreOp>(op))
        visit(store);
      else if (auto load = dyn_cast<LoadOp>(op))
        visit(load);
    }
  }

private:
  void visit(StoreOp store) {
    LoadOp load = loaded.lookup(store.getPtr());
    if (load && mayOvertake(store, load, threads)) {
      insertBarrier(store);
      forget();
    }
    stored[store.getPtr()] = store;
  }

  void visit(LoadOp load) {
    if (StoreOp store = stored.lookup(load.getPtr())) {
      insertBarrier(load);
      if (isa<LoopLikeOpInterface>(load->getParentOp()))
        insertBarrier(store);
      forget();
    }
    loaded[load.getPtr()] = load;
  }

  void forget() {
    stored.clear();
    loaded.clear();
  }

  int64_t threads;
  DenseMap<Value, StoreOp> stored; // since the last barrier, by their pointers
  DenseMap<Value, LoadOp> loaded;
};

struct OrderRoundTripsPass : impl::OrderRoundTripsBase<OrderRoundTripsPass> {
  void runOnOperation() override {
    auto warps = getOperation()->getAttrOfType<IntegerAttr>(names::numWarps);
    const int64_t threads = 32 * (warps ? warps.getInt() : 1);
    getOperation().walk([&](Block *block) { OrderBlock(threads).run(*block); });
  }
};
} // namespace
} // namespace pantile
