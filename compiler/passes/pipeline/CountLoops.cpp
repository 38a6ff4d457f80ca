//===- CountLoops.cpp - make a `while` that counts a loop over a range ----------------------===//
// Needs: simplified loops; what a condition computes that never changes stands in front of the loop.
// Gives: scf.for for an scf.while whose condition is `counter < end` and nothing else, where the
//        body adds a constant to the counter once per iteration: its loads can run ahead.
// How:   legal where both end after the same iterations. A counter that passes the last integer
//        wraps around, which a loop over a range does not: but where the step is a power of two, it
//        then comes back to where it was without having reached `end`, so that the `while` has no
//        end. Whether it has is all that differs. Other steps are refused, and so are constant bounds
//        whose distance has no sign bit left, which MLIR's folds take for negative.
//===----------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COUNTLOOPS
#include "passes/Passes.h.inc"
namespace {

struct Counter {
  unsigned position; ///< among the values that the loop carries
  Value end, step;
};

/// `counter < end`, alone in front of the body, which gets all that the loop carries.
std::optional<Counter> testOf(scf::WhileOp loop) {
  Block &before = *loop.getBeforeBody();
  scf::ConditionOp condition = loop.getConditionOp();
  auto compare = condition.getCondition().getDefiningOp<arith::CmpIOp>();
  const bool isAlone =
      compare && &before.front() == compare && compare->getNextNode() == condition.getOperation();
  if (!isAlone || !llvm::equal(condition.getArgs(), before.getArguments()))
    return std::nullopt;
  Value counter = compare.getLhs(), end = compare.getRhs();
  if (compare.getPredicate() == arith::CmpIPredicate::sgt)
    std::swap(counter, end);
  else if (compare.getPredicate() != arith::CmpIPredicate::slt)
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(counter);
  if (!argument || argument.getOwner() != &before || !loop.isDefinedOutsideOfLoop(end))
    return std::nullopt;
  return Counter{argument.getArgNumber(), end, {}};
}

/// The power of two that the body adds to what it carries at `position`.
Value stepOf(scf::WhileOp loop, unsigned position) {
  auto next = loop.getYieldOp().getOperand(position).getDefiningOp<arith::AddIOp>();
  Value counter = loop.getAfterArguments()[position];
  if (!next || (next.getLhs() != counter && next.getRhs() != counter))
    return {};
  Value step = next.getLhs() == counter ? next.getRhs() : next.getLhs();
  APInt number;
  const bool isPower = matchPattern(step, m_ConstantInt(&number)) && number.isStrictlyPositive() &&
                       number.isPowerOf2();
  return isPower && loop.isDefinedOutsideOfLoop(step) ? step : Value();
}

bool isTooLong(Value low, Value high) {
  APInt first, last;
  bool overflows = false;
  if (matchPattern(low, m_ConstantInt(&first)) && matchPattern(high, m_ConstantInt(&last)))
    (void)last.ssub_ov(first, overflows);
  return overflows;
}

std::optional<Counter> counterOf(scf::WhileOp loop) {
  std::optional<Counter> counter = testOf(loop);
  if (!counter || isTooLong(loop.getInits()[counter->position], counter->end))
    return std::nullopt;
  counter->step = stepOf(loop, counter->position);
  return counter->step ? counter : std::nullopt;
}

/// The counter is carried on only where something reads it after the loop.
void replace(scf::WhileOp loop, const Counter &counter) {
  const bool keeps = !loop.getResult(counter.position).use_empty();
  auto kept = [&](ValueRange values) {
    SmallVector<Value> result(values);
    if (!keeps)
      result.erase(result.begin() + counter.position);
    return result;
  };
  OpBuilder builder(loop);
  auto made = scf::ForOp::create(builder, loop.getLoc(), loop.getInits()[counter.position],
                                 counter.end, counter.step, kept(loop.getInits()));
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = made.getBody(), *from = loop.getAfterBody();
  if (!body->empty())
    body->getTerminator()->erase();
  from->getArgument(counter.position).replaceAllUsesWith(made.getInductionVar());
  for (auto [argument, value] :
       llvm::zip_equal(kept(from->getArguments()), made.getRegionIterArgs()))
    if (argument != from->getArgument(counter.position))
      argument.replaceAllUsesWith(value);
  for (auto [result, value] : llvm::zip_equal(kept(loop.getResults()), made.getResults()))
    result.replaceAllUsesWith(value);
  body->getOperations().splice(body->end(), from->getOperations());
  Operation *yield = body->getTerminator();
  yield->setOperands(kept(yield->getOperands()));
  loop.erase();
}

struct CountLoopsPass : impl::CountLoopsBase<CountLoopsPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::WhileOp loop) {
      if (std::optional<Counter> counter = counterOf(loop))
        replace(loop, *counter);
    });
  }
};
} // namespace
} // namespace pantile
