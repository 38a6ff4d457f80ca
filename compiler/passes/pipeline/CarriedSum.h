//===- CarriedSum.h - two chained products, the second one's sum carried ------------------===//
// The pattern that ScheduleLoops marks and CarrySums changes, in the body of a loop:
//     %s = nv.wgmma ..        %s' = nv.wgmma_wait 0, %s
//     %t = nv.wgmma f(%s'), %buffer, g(%sum)      %t' = nv.wgmma_wait 0, %t      scf.yield .. %t' ..
// where nothing looks at the sum of the iteration before until the first product is waited for.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

namespace names {
constexpr llvm::StringLiteral carriesSum =
    "nv.carries_sum"; // unit, on scf.for: a slot outlasts the iteration that read it by one more
constexpr llvm::StringLiteral withoutCarriedSums =
    "nv.without_carried_sums"; // unit, on the module: products end in their own iteration
} // namespace names

struct CarriedSum {
  nv::WgmmaOp first, second;
  nv::WgmmaWaitOp firstWait, secondWait;
  unsigned position = 0; ///< of the sum among the carried values
};

std::optional<CarriedSum> findCarriedSum(mlir::scf::ForOp loop);

} // namespace pantile
