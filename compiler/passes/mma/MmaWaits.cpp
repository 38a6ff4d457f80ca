//===- MmaWaits.cpp - see MmaWaits.h ------------------------------------------------------===//
#include "passes/mma/MmaWaits.h"
#include "mlir/IR/Builders.h"

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

nv::WgmmaWaitOp leaveInFlight(scf::ForOp loop, ArrayRef<nv::WgmmaOp> mmas) {
  SmallVector<Value> accumulators;
  for (nv::WgmmaOp mma : mmas) {
    nv::WgmmaWaitOp wait = waitOf(mma);
    OpOperand &handedOn = *wait->use_begin();
    accumulators.push_back(loop.getResult(handedOn.getOperandNumber()));
    handedOn.set(mma.getResult());
    wait.erase();
  }
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  auto last = nv::WgmmaWaitOp::create(b, loop.getLoc(), accumulators);
  for (auto [accumulator, waited] : llvm::zip(accumulators, last.getResults()))
    accumulator.replaceAllUsesExcept(waited, last);
  return last;
}

nv::WgmmaWaitOp deferByOneIteration(scf::ForOp loop, nv::WgmmaOp mma) {
  nv::WgmmaWaitOp wait = waitOf(mma);
  OpBuilder b(wait);
  auto previous = nv::WgmmaWaitOp::create(b, wait.getLoc(), ValueRange());
  previous.getDoneMutable().assign(mma.getAcc());
  return leaveInFlight(loop, {mma});
}

} // namespace pantile
