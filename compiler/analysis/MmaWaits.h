//===- MmaWaits.h - where an MMA is waited for, as passes that order MMAs leave it --------===//
// Needs: asynchronous MMAs, and waits without a count: their places say what is in flight.
// Gives: the wait of an MMA, and the accumulator that it carries.
// How:   the order is a pass's decision: where an MMA starts, where it has to be over, and whether
//        a loop carries its accumulators on in flight. The rest follows, and is InsertWaits'.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// The one reader of `mma`'s result, if that is a wait in its block for nothing else.
nv::MmaWaitOpInterface waitOf(nv::AsyncMmaOpInterface mma);

/// The same, if the accumulators stay in their registers until then, so that it may stand later.
nv::MmaWaitOpInterface movableWaitOf(nv::AsyncMmaOpInterface mma);

/// The carried value that `mma` alone adds to and alone reads, which is handed on as soon as it has
/// been waited for; null if there is none.
mlir::BlockArgument carriedAccumulatorOf(nv::AsyncMmaOpInterface mma);

/// The only MMA in `loop`, if it adds to a carried accumulator and may be waited for elsewhere.
nv::AsyncMmaOpInterface loneAccumulation(mlir::scf::ForOp loop);

} // namespace pantile
