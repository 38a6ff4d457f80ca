//===- CarriedAccumulator.h - loops whose waits for MMAs can be deferred by one iteration ---===//
// Needs: wgmma in loops, each with a wait.
// Gives: two patterns that ScheduleLoops marks with `nv.carries_accumulator`.
// How:   1. CarryAccumulators defers the wait for the second of two chained MMAs, as in attention:
//            %s = mma ..                           %s' = wait %s
//            %t = mma f(%s'), %buffer, g(%acc)     %t' = wait %t      scf.yield .. %t' ..
//        Nothing may read the carried accumulator `%acc` before the wait for the first MMA.
//        2. DeferWaits defers the waits for several MMAs that add to carried accumulators, after
//        others whose accumulators start at zero, as in the gradients of keys and values.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

namespace names {
constexpr llvm::StringLiteral carriesAccumulator =
    "nv.carries_accumulator"; // unit, on scf.for: a stage is read until the next iteration's wait
} // namespace names

struct CarriedAccumulator {
  nv::AsyncMmaOpInterface first, second;
  nv::MmaWaitOpInterface firstWait, secondWait;
  unsigned position = 0; ///< of the accumulator among the carried values
};

/// The two MMAs of the first pattern, if `loop` has it.
std::optional<CarriedAccumulator> findCarriedAccumulator(mlir::scf::ForOp loop);

/// The MMAs of the second pattern that add to carried accumulators, in order; none if `loop` does
/// not have the pattern.
llvm::SmallVector<nv::AsyncMmaOpInterface> findAccumulatingMmas(mlir::scf::ForOp loop);

/// Defers the waits for these MMAs by one iteration. MMAs complete in order, so a wait for an MMA
/// of the next iteration also waits for them.
void deferAccumulatingMmas(mlir::scf::ForOp loop);

} // namespace pantile
