//===- CarryAccumulators.cpp - defer the wait for the second of two chained MMAs -----------===//
// Needs: ExpandPipeline ran. ScheduleLoops marked the loop, and added a stage to its circular
//        buffers or shortened the prefetch distance.
// Gives: in a loop `s = dot1(..); acc = dot2(f(s), .., g(acc))`, such as attention, the second MMA
//        is waited for after the first MMA of the next iteration is issued: the tensor cores stay
//        busy while threads synchronise and select stages.
// How:   the wait for the first MMA becomes one for both, since ptxas serialises MMAs if
//        accumulators of one are read while another is in flight. One more wait follows the loop.
//        Copies overwrite a stage only after a barrier that follows this wait, one iteration later
//        than otherwise: so the additional stage. In loops with a producer, OverlapIterations does
//        this instead.
//===------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/CarriedAccumulator.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_CARRYACCUMULATORS
#include "passes/Passes.h.inc"
namespace {

void carry(scf::ForOp loop, CarriedAccumulator &carried) {
  BlockArgument accumulator = loop.getRegionIterArg(carried.position);
  OpBuilder b(carried.firstWait);
  nv::MmaWaitOpInterface both = carried.first.createWait(
      b, carried.secondWait.getLoc(), ValueRange{carried.first.getResult(), accumulator});
  carried.firstWait->getResult(0).replaceAllUsesWith(both->getResult(0));
  carried.firstWait.erase();
  accumulator.replaceAllUsesExcept(both->getResult(1), both);
  leaveInFlight(loop, {carried.second});
}

struct CarryAccumulatorsPass : impl::CarryAccumulatorsBase<CarryAccumulatorsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(names::carriesAccumulator))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      auto carried = findCarriedAccumulator(loop);
      if (!carried)
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the second dot's MMA overlaps the first dot of the next iteration";
      carry(loop, *carried);
      loop->removeAttr(names::carriesAccumulator);
    }
  }
};
} // namespace

/// Whether the registers that `mma` reads are not overwritten while it is in flight: their tile is
/// computed before the loop, or after `wait`, at which the next iteration has waited for it.
static bool keepsRegisters(scf::ForOp loop, nv::AsyncMmaOpInterface mma,
                           nv::MmaWaitOpInterface wait) {
  Value left = mma.getHeldRegisters();
  if (!left || loop.isDefinedOutsideOfLoop(left))
    return true;
  Operation *maker = left.getDefiningOp();
  return maker && maker->getBlock() == wait->getBlock() && wait->isBeforeInBlock(maker);
}

std::optional<CarriedAccumulator> findCarriedAccumulator(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> mmas;
  loop.walk([&](nv::AsyncMmaOpInterface mma) { mmas.push_back(mma); });
  if (mmas.size() != 2 || mmas[0]->getParentOp() != loop || mmas[1]->getParentOp() != loop)
    return std::nullopt;
  CarriedAccumulator found{mmas[0], mmas[1], movableWaitOf(mmas[0]), movableWaitOf(mmas[1]), 0};
  Operation *yield = loop.getBody()->getTerminator();
  if (!found.firstWait || !found.secondWait || !found.firstWait->isBeforeInBlock(found.second) ||
      !found.second.getHeldRegisters() || !keepsRegisters(loop, found.second, found.firstWait))
    return std::nullopt;
  Value result = found.secondWait->getResult(0);
  if (!result.hasOneUse() || result.use_begin()->getOwner() != yield)
    return std::nullopt;
  found.position = result.use_begin()->getOperandNumber();
  const bool isLeftAlone =
      llvm::all_of(loop.getRegionIterArg(found.position).getUsers(), [&](Operation *user) {
        Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
        return inBody && found.firstWait->isBeforeInBlock(inBody) && user != yield;
      });
  return isLeftAlone ? std::optional(found) : std::nullopt;
}

SmallVector<nv::AsyncMmaOpInterface> findAccumulatingMmas(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> mmas, accumulating;
  loop.walk([&](nv::AsyncMmaOpInterface mma) { mmas.push_back(mma); });
  for (nv::AsyncMmaOpInterface mma : mmas) {
    if (mma->getParentOp() != loop || !movableWaitOf(mma))
      return {};
    if (!isa<BlockArgument>(mma.getAcc()))
      continue;
    if (!carriedAccumulatorOf(mma) || !mma.getHeldRegisters() ||
        !keepsRegisters(loop, mma, movableWaitOf(mmas.front())))
      return {};
    accumulating.push_back(mma);
  }
  const bool isChained = accumulating.size() > 1 && accumulating.size() < mmas.size() &&
                         !isa<BlockArgument>(mmas.front().getAcc());
  return isChained ? accumulating : SmallVector<nv::AsyncMmaOpInterface>();
}

void deferAccumulatingMmas(scf::ForOp loop) {
  const SmallVector<nv::AsyncMmaOpInterface> accumulating = findAccumulatingMmas(loop);
  if (accumulating.empty())
    return;
  leaveInFlight(loop, accumulating);
  remarkApplied(loop.getLoc(), Technique::Pipelining)
      << "the last MMAs of an iteration overlap the first of the next iteration";
}

} // namespace pantile
