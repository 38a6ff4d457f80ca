//===- LaunchCycles.h - how long a launch is expected to keep the GPU busy ---------===//
// Needs: a kernel whose plan is recorded, or one without layouts; a launch.
// Gives: the cycles of the busiest SM.
// How:   1. A program takes, per iteration of each loop, the cycles of the SM's busiest unit
//        (EngineCycles), times the number of iterations that follows from the launch's arguments
//        (ProgramValues). In each iteration it also waits for a barrier, or for memory that is not
//        prefetched early enough.
//        2. An SM executes its programs one after the other, but all that are resident at once
//        share one wait. A program more than an even distribution takes as long as a whole one:
//        that is the price of a partial last wave.
//        Not counted: DRAM, which all configurations of a kernel read alike, and reuse of one
//        program's tiles by another in L1 or L2.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pantile/Prediction.h"

namespace pantile {

/// The prediction for a kernel with `nv.plan`. `written` is the same kernel before any pass: its
/// loops count where passes left loops that do not follow from the arguments, as stream-K does.
LaunchPrediction predictOfPlan(mlir::func::FuncOp kernel, mlir::func::FuncOp written,
                               const LaunchShape &launch);

/// The prediction for a kernel before any pass, for each variant of `launch`. Registers and shared
/// memory are those of carried and of loaded tiles.
std::vector<LaunchPrediction> predictOfTiles(mlir::func::FuncOp kernel, const LaunchShape &launch);

} // namespace pantile
