//===- LaunchCycles.h - how long a launch is expected to keep the GPU busy ----------------===//
// Needs: a kernel whose plan is recorded, or one without layouts; a launch.
// Gives: the cycles of the busiest SM.
// How:   1. A program works, for each of its loops, as long per iteration as the busiest part of the
//           SM does (EngineCycles), so often as the launch's arguments say (ProgramValues), and waits
//           in each iteration for a barrier, or for memory that is not asked for early enough.
//        2. An SM does the work of its share of the programs one after the other, and waits once
//           for as many of them as share it. Where there is no more than one program to an SM too
//           many, that share is two: this is what a partial last wave costs.
//        Not counted: DRAM, which all configurations of a kernel read alike, and what neighbours
//        find in L1 or L2 of each other's tiles.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pantile/Prediction.h"

namespace pantile {

/// Of a kernel with `nv.plan`; `written` is the same as it was written, whose loops count where passes
/// left none that follow from the arguments, as stream-K does.
LaunchPrediction predictOfPlan(mlir::func::FuncOp kernel, mlir::func::FuncOp written,
                               const LaunchShape &launch);

/// Of a kernel as it is written, for each variant of `launch`: registers and shared memory are those of
/// carried and of loaded tiles.
std::vector<LaunchPrediction> predictOfTiles(mlir::func::FuncOp kernel, const LaunchShape &launch);

} // namespace pantile
