//===- CarriedAccumulator.h - products that may end in the next iteration --------------------------===//
// What ScheduleLoops marks. A pattern that CarryAccumulators changes, in the body of a loop:
//     %s = mma ..                           %s' = wait %s
//     %t = mma f(%s'), %buffer, g(%sum)     %t' = wait %t      scf.yield .. %t' ..
// where nothing looks at the sum of the iteration before until the first product is waited for.
// And one that DeferWaits changes: several products that add to carried sums, behind others that
// start sums at zero and are waited for, as in the gradients of attention's keys and values.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

namespace names {
constexpr llvm::StringLiteral carriesAccumulator =
    "nv.carries_accumulator"; // unit, on scf.for: a stage outlasts the iteration that read it by one more
} // namespace names

struct CarriedAccumulator {
  nv::AsyncMmaOpInterface first, second;
  nv::MmaWaitOpInterface firstWait, secondWait;
  unsigned position = 0; ///< of the sum among the carried values
};

std::optional<CarriedAccumulator> findCarriedAccumulator(mlir::scf::ForOp loop);

/// The products of the second pattern that add, in order; none where it is not there.
llvm::SmallVector<nv::AsyncMmaOpInterface> findAddedSums(mlir::scf::ForOp loop);

/// Leaves them under way from one iteration into the next. A wait for a product of the next one is
/// a wait for them, too.
void carryAddedSums(mlir::scf::ForOp loop);

} // namespace pantile
