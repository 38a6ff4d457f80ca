//===- MmaWaits.h - the MMAs of a loop, their waits, and what they accumulate ------===//
// Needs: asynchronous MMAs, and waits without a count: their position says what is in flight.
// Gives: the wait of an MMA, the accumulator that it carries, and the MMAs of a loop with both.
//        `carriedMmas`: those that can be in flight over the back edge, so that the tensor cores
//        stay busy while threads synchronise and select stages.
// How:   Passes decide the order: where an MMA is issued, where it must be complete, and whether a
//        loop carries accumulators in flight. InsertWaits derives the counts from that.
//        An MMA can be in flight over the back edge, until the first wait of the next iteration, if
//        1. only the loop reads its result, as a carried accumulator. MMAs complete in order, so
//           that first wait, which is for another MMA, completes it, too.
//        2. Nothing reads the carried accumulator before that wait. In attention, the second MMA is
//           such a one, and the accumulator is rescaled after the first.
//        3. The registers of its left operand are not overwritten before that wait: nothing that it
//           may be a view of is computed before the wait.
//        One of three or more MMAs is not left in flight alone, as in gradients of queries: it costs
//        a stage of each buffer, and has not been measured.
//        That its buffers are not overwritten either is for the pass that defers the wait to check:
//        a stage is free one iteration later.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

namespace names {
constexpr llvm::StringLiteral carriesAccumulator =
    "nv.carries_accumulator"; // unit, on scf.for: a stage is read until the next iteration's wait
} // namespace names

/// An MMA of a loop, with its wait, which may be moved later.
struct WaitedMma {
  nv::AsyncMmaOpInterface mma;
  nv::MmaWaitOpInterface wait;

  /// The position among the carried values of the one that only gets the result of this MMA; none
  /// if anything else reads the result.
  std::optional<unsigned> carriedAs() const;
};

/// The MMAs in `loop`, in order; none if one of them is not in its body, or has no wait that may be
/// moved.
llvm::SmallVector<WaitedMma> waitedMmas(mlir::scf::ForOp loop);

/// The MMA of the same block that adds to the result of `mma`, its only use, without a wait; null if
/// there is none.
nv::AsyncMmaOpInterface nextInFlight(nv::AsyncMmaOpInterface mma);

/// The wait for `mma` alone, or for the last one that adds to its result in flight, if that wait is in
/// its block and the only use of the result.
nv::MmaWaitOpInterface waitOf(nv::AsyncMmaOpInterface mma);

/// The carried value that only `mma` uses, as its accumulator, and that is yielded right after the
/// wait; null if there is none.
mlir::BlockArgument carriedAccumulatorOf(nv::AsyncMmaOpInterface mma);

/// The only MMA in `loop`, if it adds to a carried accumulator and its wait may be moved.
nv::AsyncMmaOpInterface loneAccumulation(mlir::scf::ForOp loop);

/// Whether the registers that `mma` reads, if any, are not overwritten before `wait` in the next
/// iteration: their tile is computed before the loop, or after `wait`.
bool keepsRegisters(mlir::scf::ForOp loop, nv::AsyncMmaOpInterface mma, mlir::Operation *wait);

/// The MMAs of `loop`, after its first one, that can be in flight over the back edge; none if one
/// whose result only the loop reads cannot.
llvm::SmallVector<nv::AsyncMmaOpInterface> carriedMmas(mlir::scf::ForOp loop);

} // namespace pantile
