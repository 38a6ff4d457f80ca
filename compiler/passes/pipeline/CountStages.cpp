//===- CountStages.cpp - the next stage of a circular buffer without a division ------------------------===//
// Needs: loops count their turns at circular buffers: stage = turn mod stages, round = turn / stages.
// Gives: stage and round are carried and counted on, where the number of stages is no power of two.
// How:   a carried number that grows by one, and of which only these two are made; what they are in
//        front of the loop is divided once. So the first wait of an iteration has its address at
//        once.
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

/// A count of turns, and what is made of it.
struct Turns {
  unsigned position = 0; ///< among the carried values
  int64_t depth = 0;     ///< how many there are
  SmallVector<arith::RemUIOp> stageOps;
  SmallVector<arith::DivUIOp> roundOps;
};

bool isNextOf(Value value, BlockArgument turn) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  return add && ((add.getLhs() == turn && matchPattern(add.getRhs(), m_One())) ||
                 (add.getRhs() == turn && matchPattern(add.getLhs(), m_One())));
}

/// A constant number of stages that is no power of two, else 0: then the rest is a mask and a shift.
int64_t depthOf(Operation *division) {
  APInt number;
  const bool isKnown = isa<arith::RemUIOp, arith::DivUIOp>(division) &&
                       matchPattern(division->getOperand(1), m_ConstantInt(&number));
  return isKnown && !number.isPowerOf2() ? number.getZExtValue() : 0;
}

std::optional<Turns> findTurns(scf::ForOp loop) {
  for (auto [i, turn] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value next = loop.getYieldedValues()[i];
    if (!turn.getType().isInteger(32) || !isNextOf(next, turn))
      continue;
    Turns turns{static_cast<unsigned>(i), {}, {}, {}};
    auto isCounted = [&](Operation *user) {
      if (user == next.getDefiningOp())
        return true;
      const int64_t depth = depthOf(user);
      if (depth == 0 || user->getOperand(0) != turn || (turns.depth != 0 && depth != turns.depth))
        return false;
      turns.depth = depth;
      if (auto stage = dyn_cast<arith::RemUIOp>(user))
        turns.stageOps.push_back(stage);
      else
        turns.roundOps.push_back(cast<arith::DivUIOp>(user));
      return true;
    };
    if (llvm::all_of(turn.getUsers(), isCounted) && !turns.stageOps.empty())
      return turns;
  }
  return std::nullopt;
}

void countOn(scf::ForOp loop, Turns &turns) {
  IRRewriter b(loop);
  Location loc = loop.getLoc();
  Value first = loop.getInitArgs()[turns.position];
  auto number = [&](int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); };
  SmallVector<Value> inits{arith::RemUIOp::create(b, loc, first, number(turns.depth)),
                           arith::DivUIOp::create(b, loc, first, number(turns.depth))};
  const DictionaryAttr attributes = loop->getAttrDictionary();
  auto next = [&](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
    for (arith::RemUIOp stage : turns.stageOps)
      b.replaceOp(stage, carried[0]);
    for (arith::DivUIOp round : turns.roundOps)
      b.replaceOp(round, carried[1]);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried[0].getOwner());
    Value stage = arith::AddIOp::create(b, loc, carried[0], number(1));
    Value round = arith::AddIOp::create(b, loc, carried[1], number(1));
    Value isOver =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, stage, number(turns.depth));
    return SmallVector<Value>{arith::SelectOp::create(b, loc, isOver, number(0), stage),
                              arith::SelectOp::create(b, loc, isOver, round, carried[1])};
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
      if (auto turns = findTurns(loop))
        countOn(loop, *turns);
  }
};
} // namespace
} // namespace pantile
