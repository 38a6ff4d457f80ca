//===- OverlapIterations.h - which loops OverlapIterations is worth a stage for -------------===//
// Needs: wgmma products in layouts; they may still be waited for at once.
// Gives: whether products that start sums at zero, and such that add to carried sums, leave registers
//        for those of two iterations.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"

namespace pantile {

bool hasRegistersForOverlap(mlir::scf::ForOp loop, const Target &target, int warps);

} // namespace pantile
