//===- ReleaseLater.cpp - see ReleaseLater.h ----------------------------------------------===//
#include "passes/pipeline/ReleaseLater.h"
#include "analysis/BufferReaders.h"
#include "ir/Numbers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/pipeline/LaterIterations.h"

using namespace mlir;

namespace pantile {

/// The count of iterations that the loop carries, of which `index` is the remainder by `depth`; null if
/// it is computed otherwise.
static BlockArgument countOf(scf::ForOp loop, Value index, int64_t depth) {
  auto remainder = index ? index.getDefiningOp<arith::RemUIOp>() : nullptr;
  auto count = remainder ? dyn_cast<BlockArgument>(remainder.getLhs()) : BlockArgument();
  APInt divisor;
  const bool isCount = count && count.getOwner() == loop.getBody() && count.getArgNumber() > 0 &&
                       matchPattern(remainder.getRhs(), m_ConstantInt(&divisor)) &&
                       divisor.getSExtValue() == depth;
  return isCount ? count : BlockArgument();
}

static int64_t depthOf(Value buffer) { return cast<nv::BufferType>(buffer.getType()).getDepth(); }

bool mayReleaseLater(nv::ReleaseOp release) {
  auto loop = dyn_cast<scf::ForOp>(release->getParentOp());
  const BufferStage stage = stageOf(release.getBarrier());
  const int64_t depth = depthOf(stage.buffer);
  return loop && depth > 1 && !release.getEnable() && countOf(loop, stage.index, depth);
}

void releaseLater(nv::ReleaseOp release, Operation *wait, Operation *last) {
  assert(mayReleaseLater(release) && "its stage is not counted by its loop");
  auto loop = cast<scf::ForOp>(release->getParentOp());
  const BufferStage stage = stageOf(release.getBarrier());
  const int64_t depth = depthOf(stage.buffer);
  Value count = loop.getTiedLoopResult(countOf(loop, stage.index, depth));
  OpBuilder b(loop->getContext());
  Numbers n(b, release.getLoc());
  auto releaseAt = [&](Value index, Value enable) {
    Value barrier = nv::SelectStageOp::create(b, release.getLoc(), stage.buffer, index);
    auto made = nv::ReleaseOp::create(b, release.getLoc(), barrier, enable);
    made->setDiscardableAttrs(release->getDiscardableAttrDictionary());
  };
  b.setInsertionPointAfter(wait);
  Value isFirst = n.equal(stage.index, n.of(0)), previous = n.sub(stage.index, n.of(1));
  Value before = n.pick(isFirst, n.of(depth - 1), previous);
  releaseAt(before, n.differ(loop.getInductionVar(), loop.getLowerBound()));
  b.setInsertionPointAfter(last);
  releaseAt(n.rem(n.sub(count, n.of(1)), n.of(depth)), hasIterations(b, loop));
  release.erase();
}

} // namespace pantile
