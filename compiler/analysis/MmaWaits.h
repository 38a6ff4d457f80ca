//===- MmaWaits.h - where an MMA is waited for while passes order MMAs -------------===//
// Needs: asynchronous MMAs, and waits without a count: their position says what is in flight.
// Gives: the wait of an MMA, and the accumulator that it carries.
// How:   Passes decide the order: where an MMA is issued, where it must be complete, and whether a
//        loop carries accumulators in flight. InsertWaits derives the counts from that.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// The wait for `mma` alone, if that is in its block and the only use of its result.
nv::MmaWaitOpInterface waitOf(nv::AsyncMmaOpInterface mma);

/// The same, if the accumulators stay in their registers, so that the wait may be moved later.
nv::MmaWaitOpInterface movableWaitOf(nv::AsyncMmaOpInterface mma);

/// The carried value that only `mma` uses, as its accumulator, and that is yielded right after the
/// wait; null if there is none.
mlir::BlockArgument carriedAccumulatorOf(nv::AsyncMmaOpInterface mma);

/// The only MMA in `loop`, if it adds to a carried accumulator and its wait may be moved.
nv::AsyncMmaOpInterface loneAccumulation(mlir::scf::ForOp loop);

} // namespace pantile
