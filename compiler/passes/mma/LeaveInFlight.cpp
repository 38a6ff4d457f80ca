//===- LeaveInFlight.cpp - see LeaveInFlight.h --------------------------------------------===//
#include "passes/mma/LeaveInFlight.h"
#include "analysis/MmaWaits.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace pantile {

nv::MmaWaitOpInterface leaveInFlight(scf::ForOp loop, ArrayRef<nv::AsyncMmaOpInterface> mmas) {
  SmallVector<Value> accumulators;
  for (nv::AsyncMmaOpInterface mma : mmas) {
    nv::MmaWaitOpInterface wait = waitOf(mma);
    OpOperand &handedOn = *wait->use_begin();
    accumulators.push_back(loop.getResult(handedOn.getOperandNumber()));
    handedOn.set(mma.getResult());
    wait.erase();
  }
  OpBuilder b(loop->getContext());
  b.setInsertionPointAfter(loop);
  nv::AsyncMmaOpInterface first = mmas.front();
  nv::MmaWaitOpInterface last = first.createWait(b, loop.getLoc(), accumulators);
  for (auto [accumulator, waited] : llvm::zip(accumulators, last->getResults()))
    accumulator.replaceAllUsesExcept(waited, last);
  return last;
}

nv::MmaWaitOpInterface deferByOneIteration(scf::ForOp loop, nv::AsyncMmaOpInterface mma) {
  nv::MmaWaitOpInterface wait = waitOf(mma);
  OpBuilder b(wait);
  nv::MmaWaitOpInterface previous = mma.createWait(b, wait.getLoc(), ValueRange());
  previous.getDoneMutable().assign(mma.getAcc());
  return leaveInFlight(loop, {mma});
}

} // namespace pantile
