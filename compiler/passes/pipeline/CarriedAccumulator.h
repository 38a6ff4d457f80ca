//===- CarriedAccumulator.h - loops whose waits for MMAs can be deferred by one iteration ---===//
// Needs: wgmma in loops, each with a wait.
// Gives: two patterns that ScheduleLoops marks with `nv.carries_accumulator`, for whose MMAs
//        DeferWaits defers the wait by one iteration: the tensor cores stay busy while threads
//        synchronise and select stages.
// How:   1. The second of two chained MMAs, as in attention:
//            %s = mma ..                           %s' = wait %s
//            %t = mma f(%s'), %buffer, g(%acc)     %t' = wait %t      scf.yield .. %t' ..
//        Nothing may read the carried accumulator `%acc` before the wait for the first MMA. That
//        becomes one for both, since ptxas serialises MMAs if accumulators of one are read while
//        another is in flight.
//        2. Several MMAs that add to carried accumulators, after others whose accumulators start at
//        zero, as in the gradients of keys and values. MMAs complete in order, so a wait for an MMA
//        of the next iteration also waits for them.
//        One more wait follows the loop. Copies overwrite a stage only after a barrier that follows
//        the wait, one iteration later than otherwise: so ScheduleLoops adds a stage, or shortens
//        the distance. In loops with a producer, OverlapIterations does this instead.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral carriesAccumulator =
    "nv.carries_accumulator"; // unit, on scf.for: a stage is read until the next iteration's wait
} // namespace names

/// The MMAs of one of the patterns that add to carried accumulators, in order; none if `loop` has
/// neither.
llvm::SmallVector<nv::AsyncMmaOpInterface> findCarriedMmas(mlir::scf::ForOp loop);

/// The same for the second pattern alone.
llvm::SmallVector<nv::AsyncMmaOpInterface> findAccumulatingMmas(mlir::scf::ForOp loop);

/// Defers the wait for the second of two chained MMAs by one iteration; false if `loop` has not the
/// first pattern.
bool deferChainedMma(mlir::scf::ForOp loop);

/// Defers the waits for the MMAs of the second pattern.
void deferAccumulatingMmas(mlir::scf::ForOp loop);

} // namespace pantile
