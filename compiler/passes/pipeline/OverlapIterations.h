//===- OverlapIterations.h - whether registers suffice to overlap iterations ----------------===//
// Needs: layouts are assigned; MMAs may still be waited for at once.
// Gives: for a loop with MMAs that start at zero and MMAs that add to carried accumulators: whether
//        the registers of a consumer hold those of two iterations.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"

namespace pantile {

/// Whether registers suffice for OverlapIterations in `loop`, whose MMAs are of both kinds.
bool hasRegistersForOverlap(mlir::scf::ForOp loop, const Target &target, int warps);

} // namespace pantile
