//===- Channels.cpp - see Channels.h ------------------------------------------------------===//
#include "passes/pipeline/Channels.h"
#include "ir/FindOps.h"
#include "ir/Numbers.h"
#include "ir/Remarks.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace pantile {

void replaceBuffer(Value buffer, Value stage) {
  Operation *selection = stage.getDefiningOp();
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
    if (isa<nv::DeallocOp>(user))
      user->erase();
    else if (isa<nv::BufferTransOp>(user) && user->isBeforeInBlock(selection))
      user->moveAfter(selection);
  buffer.replaceAllUsesWith(stage);
  buffer.getDefiningOp()->erase();
}

nv::ChannelOp formCopyChannel(scf::ForOp loop, StagedLoad staged, int depth, int ahead, int bytes) {
  remarkApplied(staged.load.getLoc(), Technique::Pipelining)
      << "load is prefetched " << ahead << " iterations ahead through a circular buffer of "
      << depth << " stages";
  OpBuilder b(loop);
  Location loc = staged.alloc.getLoc();
  auto channel =
      nv::ChannelOp::create(b, loc, staged.alloc.getType().withDepth(depth), nv::Transport::CpAsync,
                            b.getI32IntegerAttr(ahead), b.getI32IntegerAttr(bytes), IntegerAttr());
  b.setInsertionPoint(staged.alloc);
  replaceBuffer(staged.alloc, nv::CurrentStageOp::create(b, loc, channel));
  return channel;
}

void eraseUnneededFences(scf::ForOp loop) {
  bool hasStored = false;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
    if (!isa<nv::FenceAsyncOp>(op))
      hasStored |= containsOp<nv::LocalStoreOp>(&op);
    else if (!std::exchange(hasStored, false))
      op.erase();
}

scf::ForOp carryValues(scf::ForOp loop, ValueRange inits, NextValues next) {
  IRRewriter rewriter(loop);
  auto made = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &b, Location, ArrayRef<BlockArgument> carried) { return next(b, carried); });
  return cast<scf::ForOp>(made->getOperation());
}

StageCount nextStage(OpBuilder &b, Location loc, StageCount now, int depth) {
  Numbers n(b, loc);
  Value one = n.of(1), index = n.add(now.index, one);
  Value wraps = now.wraps ? n.add(now.wraps, one) : Value();
  Value wrapsNow = n.equal(index, n.of(depth));
  return {n.pick(wrapsNow, n.of(0), index), wraps ? n.pick(wrapsNow, wraps, now.wraps) : Value()};
}

} // namespace pantile
