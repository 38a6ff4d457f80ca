//===- MmaWaits.cpp - see MmaWaits.h ------------------------------------------------------===//
#include "analysis/MmaWaits.h"

using namespace mlir;

namespace pantile {

nv::MmaWaitOpInterface waitOf(nv::AsyncMmaOpInterface mma) {
  auto wait = mma->hasOneUse() ? dyn_cast<nv::MmaWaitOpInterface>(*mma->user_begin())
                               : nv::MmaWaitOpInterface();
  const bool isAlone = wait && wait->getBlock() == mma->getBlock() && wait.getValues().size() == 1;
  return isAlone ? wait : nv::MmaWaitOpInterface();
}

nv::MmaWaitOpInterface movableWaitOf(nv::AsyncMmaOpInterface mma) {
  return mma.isWaitedForAtOnce() ? nv::MmaWaitOpInterface() : waitOf(mma);
}

BlockArgument carriedAccumulatorOf(nv::AsyncMmaOpInterface mma) {
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  auto accumulator = dyn_cast<BlockArgument>(mma.getAcc());
  nv::MmaWaitOpInterface wait = waitOf(mma);
  if (!loop || !accumulator || !wait || accumulator.getOwner() != loop.getBody() ||
      !accumulator.hasOneUse() || !wait->hasOneUse())
    return {};
  return loop.getTiedLoopYieldedValue(accumulator) == &*wait->use_begin() ? accumulator
                                                                          : BlockArgument();
}

nv::AsyncMmaOpInterface loneAccumulation(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> mmas;
  loop.walk([&](nv::AsyncMmaOpInterface mma) { mmas.push_back(mma); });
  const bool isLone = mmas.size() == 1 && mmas[0]->getParentOp() == loop &&
                      movableWaitOf(mmas[0]) && carriedAccumulatorOf(mmas[0]);
  return isLone ? mmas[0] : nv::AsyncMmaOpInterface();
}

} // namespace pantile
