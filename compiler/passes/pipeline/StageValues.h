//===- StageValues.h - stage tiles that a loop with MMAs computes with --------------------===//
// Needs: layouts.
// Gives: buffers for loads whose tiles no MMA reads unchanged, but which are worth prefetching.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"

namespace pantile {

/// The first load that stageValues would stage; null where there is none.
LoadOp valueToStage(mlir::scf::ForOp loop, int stages, const Target &target);

/// Stages tiles that the body of a loop with MMAs computes with, where they can be prefetched
/// through `stages` stages and their buffers do not cost the second CTA per SM.
void stageValues(mlir::scf::ForOp loop, int stages, const AxisInfoAnalysis &axes,
                 const Target &target);

} // namespace pantile
