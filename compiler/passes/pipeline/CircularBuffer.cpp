//===- CircularBuffer.cpp - see CircularBuffer.h ------------------------------------------===//
#include "passes/pipeline/CircularBuffer.h"
#include "ir/FindOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace pantile {

nv::BufferType circularType(nv::BufferType stage, int depth) {
  return nv::BufferType::get(stage.getContext(), depth, stage.getShape(), stage.getElementType(),
                             stage.getSwizzle());
}

Value allocCircular(OpBuilder &b, Location loc, nv::BufferType stage, int depth) {
  auto buffer = nv::AllocOp::create(b, loc, circularType(stage, depth), IntegerAttr());
  buffer->setAttr(names::circularBuffer, b.getUnitAttr());
  return buffer;
}

Value selectStage(OpBuilder &b, Location loc, Value buffer, Value index) {
  auto type = cast<nv::BufferType>(buffer.getType()).getStageType();
  return nv::SelectStageOp::create(b, loc, type, buffer, index);
}

void replaceByStage(StagedLoad load, Value stage) {
  load.store.erase();
  load.load.erase();
  Operation *selection = stage.getDefiningOp();
  for (Operation *user : llvm::make_early_inc_range(load.alloc->getUsers()))
    if (isa<nv::DeallocOp>(user))
      user->erase();
    else if (isa<nv::BufferTransOp>(user) && user->isBeforeInBlock(selection))
      user->moveAfter(selection);
  load.alloc.replaceAllUsesWith(stage);
  load.alloc.erase();
}

void eraseUnneededFences(scf::ForOp loop) {
  bool hasStored = false;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
    if (!isa<nv::FenceAsyncOp>(op))
      hasStored |= containsOp<nv::LocalStoreOp>(&op);
    else if (!std::exchange(hasStored, false))
      op.erase();
}

scf::ForOp carryValue(scf::ForOp loop, Value init, NextValue next) {
  IRRewriter rewriter(loop);
  auto made = loop.replaceWithAdditionalYields(
      rewriter, init, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &b, Location, ArrayRef<BlockArgument> carried) {
        return SmallVector<Value>{next(b, carried.front())};
      });
  return cast<scf::ForOp>(made->getOperation());
}

} // namespace pantile
