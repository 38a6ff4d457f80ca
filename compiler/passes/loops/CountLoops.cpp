//===- CountLoops.cpp - convert a counting `while` to a loop over a range -------------------===//
// Needs: simplified loops; loop-invariant operands of a condition are computed before the loop.
// Gives: scf.for for an scf.while whose condition is `counter < end` alone, and whose body adds a
//        constant to the counter once per iteration: its loads can then be prefetched.
// How:   legal where both loops have the same trip count. A counter that overflows wraps around in
//        the `while`, but not in a loop over a range. If the step is a power of two, a counter that
//        wraps returns to where it was without having reached `end`, so the `while` never ends:
//        whether it ends is all that differs. Other steps are refused. So are constant bounds whose
//        difference overflows as a signed number, which MLIR's folds take for negative.
//===----------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
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

/// The counter of `counter < end`, if that is all that precedes the body, and the body gets all
/// carried values.
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

/// Replaces `loop` by an scf.for, which carries the counter only where that is read after the loop.
void replace(scf::WhileOp loop, const Counter &counter) {
  const bool keeps = !loop.getResult(counter.position).use_empty();
  auto kept = [&](ValueRange values) {
    SmallVector<Value> result(values);
    if (!keeps)
      result.erase(result.begin() + counter.position);
    return result;
  };
  IRRewriter rewriter(loop);
  auto made = scf::ForOp::create(rewriter, loop.getLoc(), loop.getInits()[counter.position],
                                 counter.end, counter.step, kept(loop.getInits()),
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  SmallVector<Value> arguments(made.getRegionIterArgs());
  if (!keeps)
    arguments.insert(arguments.begin() + counter.position, Value());
  arguments[counter.position] = made.getInductionVar();
  Operation *yield = loop.getYieldOp();
  yield->setOperands(kept(yield->getOperands()));
  rewriter.mergeBlocks(loop.getAfterBody(), made.getBody(), arguments);
  for (auto [result, value] : llvm::zip_equal(kept(loop.getResults()), made.getResults()))
    result.replaceAllUsesWith(value);
  loop.erase();
}

struct CountLoopsPass : impl::CountLoopsBase<CountLoopsPass> {
  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](scf::WhileOp loop) {
      if (std::optional<Counter> counter = counterOf(loop)) {
        replace(loop, *counter);
        changed = true;
      }
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
