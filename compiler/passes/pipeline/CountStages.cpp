//===- CountStages.cpp - increment and wrap stage indices instead of dividing --------------===//
// Needs: loops carry a count of their iterations: stage index = count mod depth, and the phase is
//        the parity of count / depth.
// Gives: where the depth is no power of two, loops carry the stage index and the number of wraps;
//        the index is incremented, and set to zero where it reaches the depth.
// How:   only for a carried value that grows by one, and of which only these two are computed.
//        Their initial values are divided once, before the loop. So the address of the first
//        mbarrier wait of an iteration is ready at its start.
//===------------------------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COUNTSTAGES
#include "passes/Passes.h.inc"
namespace {

/// A carried iteration count, and the divisions of it by the depth of a circular buffer.
struct IterationCount {
  unsigned position = 0;                ///< among the carried values
  int64_t depth = 0;                    ///< stages of the circular buffer
  SmallVector<arith::RemUIOp> indexOps; ///< the stage index
  SmallVector<arith::DivUIOp> wrapOps; ///< how often the index has wrapped; its parity is the phase
};

bool isNextOf(Value value, BlockArgument count) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  return add && ((add.getLhs() == count && matchPattern(add.getRhs(), m_One())) ||
                 (add.getRhs() == count && matchPattern(add.getLhs(), m_One())));
}

/// The constant divisor, if it is no power of two; else 0: a power of two needs a mask and a shift.
int64_t depthOf(Operation *division) {
  APInt number;
  const bool isKnown = isa<arith::RemUIOp, arith::DivUIOp>(division) &&
                       matchPattern(division->getOperand(1), m_ConstantInt(&number));
  return isKnown && !number.isPowerOf2() ? number.getZExtValue() : 0;
}

/// A carried value that grows by one per iteration, and of which the body only computes divisions.
std::optional<IterationCount> findCount(scf::ForOp loop) {
  for (auto [i, count] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value next = loop.getYieldedValues()[i];
    if (!count.getType().isInteger(32) || !isNextOf(next, count))
      continue;
    IterationCount found{static_cast<unsigned>(i), {}, {}, {}};
    auto isCounted = [&](Operation *user) {
      if (user == next.getDefiningOp())
        return true;
      const int64_t depth = depthOf(user);
      if (depth == 0 || user->getOperand(0) != count || (found.depth != 0 && depth != found.depth))
        return false;
      found.depth = depth;
      if (auto index = dyn_cast<arith::RemUIOp>(user))
        found.indexOps.push_back(index);
      else
        found.wrapOps.push_back(cast<arith::DivUIOp>(user));
      return true;
    };
    if (llvm::all_of(count.getUsers(), isCounted) && !found.indexOps.empty())
      return found;
  }
  return std::nullopt;
}

/// Makes `loop` carry the index and the number of wraps, and increment these instead of dividing.
void replaceDivisions(scf::ForOp loop, IterationCount &count) {
  IRRewriter b(loop);
  Location loc = loop.getLoc();
  Value first = loop.getInitArgs()[count.position];
  auto number = [&](int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); };
  SmallVector<Value> inits{arith::RemUIOp::create(b, loc, first, number(count.depth)),
                           arith::DivUIOp::create(b, loc, first, number(count.depth))};
  const DictionaryAttr attributes = loop->getAttrDictionary();
  auto next = [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
    for (arith::RemUIOp index : count.indexOps)
      b.replaceOp(index, carried[0]);
    for (arith::DivUIOp wraps : count.wrapOps)
      b.replaceOp(wraps, carried[1]);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried[0].getOwner());
    Value index = arith::AddIOp::create(b, loc, carried[0], number(1));
    Value wraps = arith::AddIOp::create(b, loc, carried[1], number(1));
    Value wrapsNow =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, number(count.depth));
    return SmallVector<Value>{arith::SelectOp::create(b, loc, wrapsNow, number(0), index),
                              arith::SelectOp::create(b, loc, wrapsNow, wraps, carried[1])};
  };
  auto made =
      loop.replaceWithAdditionalYields(b, inits, /*replaceInitOperandUsesInLoop=*/false, next);
  if (succeeded(made))
    (*made)->setAttrs(attributes);
}

struct CountStagesPass : impl::CountStagesBase<CountStagesPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (auto count = findCount(loop))
        replaceDivisions(loop, *count);
  }
};
} // namespace
} // namespace pantile
