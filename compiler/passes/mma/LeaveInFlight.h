//===- LeaveInFlight.h - keep MMAs in flight over the back edge of a loop -----------------===//
// Needs: MMAs that add to carried accumulators, each with a wait of its own (MmaWaits.h).
// Gives: a loop that carries these accumulators in flight, and a wait after it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Makes `loop` carry the accumulators of `mmas` in flight, without their waits. Creates and
/// returns the wait after the loop, for the MMAs of the last iteration.
nv::MmaWaitOpInterface leaveInFlight(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<nv::AsyncMmaOpInterface> mmas);

/// Defers the wait for the only MMA of `loop` by one iteration: at its place there is a wait for
/// the MMA of the iteration before. Returns the wait after the loop.
nv::MmaWaitOpInterface deferByOneIteration(mlir::scf::ForOp loop, nv::AsyncMmaOpInterface mma);

} // namespace pantile
