//===- StageValues.h - stage tiles that a loop with MMAs computes with --------------------===//
// Needs: loads that are worth prefetching (StagedValues.h).
// Gives: buffers for them: ScheduleLoops lets all warps copy them, SpecialiseWarps a producer.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedValues.h"

namespace pantile {

/// Stores the tile into a buffer, from which threads load it where they use it first.
StagedLoad stageValue(StagedValue value);

/// Lets threads load the tile of `load` from `alloc`, which it is stored into, where they use it first;
/// the last operation that uses it.
mlir::Operation *readFrom(nv::AllocOp alloc, LoadOp load);

} // namespace pantile
