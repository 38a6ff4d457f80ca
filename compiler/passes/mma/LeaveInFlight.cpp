//===- LeaveInFlight.cpp - see LeaveInFlight.h --------------------------------------------===//
#include "passes/mma/LeaveInFlight.h"
#include "analysis/MmaWaits.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace pantile {

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
