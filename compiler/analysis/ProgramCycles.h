//===- ProgramCycles.h - how long one program works, and how long it waits ----------------===//
// Needs: a kernel at any stage; a launch.
// Gives: cycles per program, the mean over some of the grid.
// How:   see LaunchCycles.h. Nested loops count as often as those around them; both sides of a branch
//        count; a producer works at the same time, and is left out.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pantile/Prediction.h"

namespace pantile {

struct ProgramCycles {
  double busy = 0;  ///< that the busiest part of the SM works; programs of one SM add up
  double waits = 0; ///< that nothing of the program works; another program may
};

/// Nothing, and why in `unknown`, where a loop runs as often as something says that is not known.
std::optional<ProgramCycles> programCycles(mlir::func::FuncOp kernel, const LaunchShape &launch,
                                           std::string &unknown);

} // namespace pantile
