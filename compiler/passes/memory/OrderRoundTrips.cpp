//===- OrderRoundTrips.cpp - let a store be seen by the load behind it --------------------===//
// Needs: tiles without layouts; equal pointers are one value (CSE ran).
// Gives: between a store and a later load through the same pointers all threads meet.
// How:   elements that several threads hold are stored by one of them and loaded by all, so the
//        order of the program does not order the threads. Kernels of Triton's first versions send
//        values through scratch memory this way and have no barrier. In a loop, a second barrier
//        keeps the next store behind the last load. Only pointers that are one value in one block
//        count: other ways to the same bytes are ordered by the user, with `debug_barrier`.
//===------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
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

void orderBlock(Block &block) {
  DenseMap<Value, StoreOp> open; // stores since the last barrier, by their pointers
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<BarrierOp>(op)) {
      open.clear();
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      open[store.getPtr()] = store;
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      StoreOp store = open.lookup(load.getPtr());
      if (!store)
        continue;
      insertBarrier(load);
      if (isa<LoopLikeOpInterface>(block.getParentOp()))
        insertBarrier(store);
      open.clear();
    }
  }
}

struct OrderRoundTripsPass : impl::OrderRoundTripsBase<OrderRoundTripsPass> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) { orderBlock(*block); });
  }
};
} // namespace
} // namespace pantile
