//===- ProgramCycles.h - how long one program works, and how long it waits ---------===//
// Needs: a kernel at any stage; a launch.
// Gives: cycles per program, averaged over a sample of the grid.
// How:   See LaunchCycles.h. The iterations of nested loops are multiplied. Both sides of a branch
//        count. A producer is left out, as it runs concurrently.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pantile/Prediction.h"

namespace pantile {

struct ProgramCycles {
  double busy = 0;  ///< for which the SM's busiest unit works; programs of one SM add up
  double waits = 0; ///< during which nothing of the program works; another program may
};

/// Nothing, and why in `unknown`, where the number of iterations of a loop is unknown.
std::optional<ProgramCycles> programCycles(mlir::func::FuncOp kernel, const LaunchShape &launch,
                                           std::string &unknown);

} // namespace pantile
