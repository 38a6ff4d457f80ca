//===- LeaveInFlight.h - MMAs in flight over a loop's back edge ---------------------------===//
// Needs: MMAs that add to carried accumulators, each with a wait of its own (MmaWaits.h).
// Gives: the loop that carries them on in flight, and a wait after it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Makes `loop` carry the accumulators of `mmas` on in flight: their waits go. The wait for what
/// the last iteration leaves in flight stands after the loop, and is returned.
nv::MmaWaitOpInterface leaveInFlight(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<nv::AsyncMmaOpInterface> mmas);

/// The same for a lone accumulation: where it was waited for, the one of the iteration before is.
nv::MmaWaitOpInterface deferByOneIteration(mlir::scf::ForOp loop, nv::AsyncMmaOpInterface mma);

} // namespace pantile
