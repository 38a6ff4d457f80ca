//===- MmaWaits.cpp - see MmaWaits.h ------------------------------------------------------===//
#include "analysis/MmaWaits.h"

using namespace mlir;

namespace pantile {

nv::WgmmaWaitOp waitOf(nv::WgmmaOp mma) {
  auto wait = mma->hasOneUse() ? dyn_cast<nv::WgmmaWaitOp>(*mma->user_begin()) : nv::WgmmaWaitOp();
  const bool isAlone = wait && wait->getBlock() == mma->getBlock() && wait.getValues().size() == 1;
  return isAlone ? wait : nv::WgmmaWaitOp();
}

nv::WgmmaWaitOp movableWaitOf(nv::WgmmaOp mma) {
  const bool staysInPlace =
      !mma->hasAttr(names::maxImprecise) && !mma.getAcc().getType().getElementType().isF16();
  return staysInPlace ? waitOf(mma) : nv::WgmmaWaitOp();
}

BlockArgument carriedAccumulatorOf(nv::WgmmaOp mma) {
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  auto accumulator = dyn_cast<BlockArgument>(mma.getAcc());
  nv::WgmmaWaitOp wait = waitOf(mma);
  if (!loop || !accumulator || !wait || accumulator.getOwner() != loop.getBody() ||
      !accumulator.hasOneUse() || !wait->hasOneUse())
    return {};
  return loop.getTiedLoopYieldedValue(accumulator) == &*wait->use_begin() ? accumulator
                                                                          : BlockArgument();
}

nv::WgmmaOp loneAccumulation(scf::ForOp loop) {
  SmallVector<nv::WgmmaOp> mmas;
  loop.walk([&](nv::WgmmaOp mma) { mmas.push_back(mma); });
  const bool isLone = mmas.size() == 1 && mmas[0]->getParentOp() == loop &&
                      movableWaitOf(mmas[0]) && carriedAccumulatorOf(mmas[0]);
  return isLone ? mmas[0] : nv::WgmmaOp();
}

} // namespace pantile
