//===- RunningSum.cpp - see RunningSum.h --------------------------------------------------===//
#include "passes/layout/RunningSum.h"
#include "ir/Combine.h"

using namespace mlir;

namespace pantile {

bool isSum(ReduceOp reduce) { return combinesBy<arith::AddFOp>(reduce); }

std::optional<RunningSum> findRunningSum(scf::ForOp loop, unsigned position) {
  BlockArgument argument = loop.getRegionIterArg(position);
  auto next = loop.getYieldedValues()[position].getDefiningOp<arith::AddFOp>();
  if (!next || !next->hasOneUse() || !argument.hasOneUse() || next->getBlock() != loop.getBody())
    return std::nullopt;
  for (auto [one, other] :
       {std::pair(next.getLhs(), next.getRhs()), std::pair(next.getRhs(), next.getLhs())}) {
    auto reduce = other.getDefiningOp<ReduceOp>();
    if (!reduce || !reduce->hasOneUse() || !isSum(reduce) || reduce->getBlock() != next->getBlock())
      continue;
    if (one == argument)
      return RunningSum{position, next, {}, {}, reduce};
    auto scaled = one.getDefiningOp<arith::MulFOp>();
    if (!scaled || !scaled->hasOneUse() || scaled->getBlock() != next->getBlock())
      continue;
    if (scaled.getLhs() == argument || scaled.getRhs() == argument)
      return RunningSum{position, next, scaled,
                        scaled.getLhs() == argument ? scaled.getRhs() : scaled.getLhs(), reduce};
  }
  return std::nullopt;
}

Value broadcastRows(OpBuilder &b, Value rows, int axis, RankedTensorType type) {
  Location loc = rows.getLoc();
  auto from = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(from.getShape());
  shape.insert(shape.begin() + axis, 1);
  auto column = RankedTensorType::get(shape, from.getElementType());
  if (from.getEncoding())
    column = withLayout(column, layoutOf(from).expandDims(axis));
  Value expanded = ExpandDimsOp::create(b, loc, column, rows, axis);
  return BroadcastOp::create(b, loc, type, expanded);
}

/// The one of two values that is computed later in the block of `first`, to which `second` belongs,
/// too, or which it dominates. `second` may be null.
static Value laterOf(Value first, Value second) {
  Operation *one = first.getDefiningOp(), *other = second ? second.getDefiningOp() : nullptr;
  return other && other->getBlock() == one->getBlock() && one->isBeforeInBlock(other) ? second
                                                                                      : first;
}

scf::ForOp carryPartialSums(IRRewriter &rewriter, scf::ForOp loop, RunningSum sum,
                            const PartialSums &parts) {
  auto type = cast<RankedTensorType>(parts.own.getType());
  auto yieldNext = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> arguments) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(laterOf(parts.own, sum.factor));
    Value carried = arguments.front();
    if (sum.factor)
      carried = arith::MulFOp::create(b, loc, carried,
                                      broadcastRows(b, sum.factor, sum.reduce.getAxis(), type));
    return SmallVector<Value>{arith::AddFOp::create(b, loc, carried, parts.own)};
  };
  rewriter.setInsertionPoint(loop);
  auto wider = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, ValueRange{parts.start}, /*replaceInitOperandUsesInLoop=*/false, yieldNext));
  Value result = wider.getResult(sum.position);
  rewriter.setInsertionPointAfter(wider);
  result.replaceAllUsesWith(parts.total(rewriter, wider.getResults().back()));
  wider.getBody()->getTerminator()->setOperand(sum.position, wider.getRegionIterArg(sum.position));
  for (Operation *op : {sum.next.getOperation(), sum.scaled ? sum.scaled.getOperation() : nullptr,
                        sum.reduce.getOperation()})
    if (op)
      rewriter.eraseOp(op);
  return wider;
}

} // namespace pantile
