//===- CarriedAccumulator.cpp - see CarriedAccumulator.h ----------------------------------===//
#include "passes/pipeline/CarriedAccumulator.h"
#include "analysis/MmaWaits.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "passes/mma/LeaveInFlight.h"
#include <optional>

using namespace mlir;

namespace pantile {
namespace {

/// Two chained MMAs.
struct Chain {
  nv::AsyncMmaOpInterface first, second;
  nv::MmaWaitOpInterface firstWait, secondWait;
  unsigned position = 0; ///< of the accumulator among the carried values
};

/// Whether the registers that `mma` reads are not overwritten while it is in flight: their tile is
/// computed before the loop, or after `wait`, at which the next iteration has waited for it.
bool keepsRegisters(scf::ForOp loop, nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait) {
  Value left = mma.getHeldRegisters();
  if (!left || loop.isDefinedOutsideOfLoop(left))
    return true;
  Operation *maker = left.getDefiningOp();
  return maker && maker->getBlock() == wait->getBlock() && wait->isBeforeInBlock(maker);
}

std::optional<Chain> findChain(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> mmas;
  loop.walk([&](nv::AsyncMmaOpInterface mma) { mmas.push_back(mma); });
  if (mmas.size() != 2 || mmas[0]->getParentOp() != loop || mmas[1]->getParentOp() != loop)
    return std::nullopt;
  Chain found{mmas[0], mmas[1], movableWaitOf(mmas[0]), movableWaitOf(mmas[1]), 0};
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

} // namespace

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

SmallVector<nv::AsyncMmaOpInterface> findCarriedMmas(scf::ForOp loop) {
  std::optional<Chain> chain = findChain(loop);
  return chain ? SmallVector<nv::AsyncMmaOpInterface>{chain->second} : findAccumulatingMmas(loop);
}

bool deferChainedMma(scf::ForOp loop) {
  std::optional<Chain> chain = findChain(loop);
  if (!chain)
    return false;
  remarkApplied(loop.getLoc(), Technique::Pipelining)
      << "the second dot's MMA overlaps the first dot of the next iteration";
  BlockArgument accumulator = loop.getRegionIterArg(chain->position);
  OpBuilder b(chain->firstWait);
  nv::MmaWaitOpInterface both = chain->first.createWait(
      b, chain->secondWait.getLoc(), ValueRange{chain->first.getResult(), accumulator});
  chain->firstWait->getResult(0).replaceAllUsesWith(both->getResult(0));
  chain->firstWait.erase();
  accumulator.replaceAllUsesExcept(both->getResult(1), both);
  leaveInFlight(loop, {chain->second});
  return true;
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
