//===- StageValues.h - buffers for tiles that a loop with products computes with ----------===//
// Needs: layouts.
// Gives: loads that are worth a buffer though no product reads what they load as it is.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"

namespace pantile {

/// A load that stageValues would stage; null where there is none.
LoadOp valueToStage(mlir::scf::ForOp loop, int stages, const Target &target);

/// Lets tiles that the body of a loop with products computes with pass through buffers, where they
/// can be prefetched through `stages` stages and no block of two goes for them.
void stageValues(mlir::scf::ForOp loop, int stages, const AxisInfoAnalysis &axes,
                 const Target &target);

} // namespace pantile
