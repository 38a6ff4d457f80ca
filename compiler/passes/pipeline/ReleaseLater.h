//===- ReleaseLater.h - release a stage one iteration later -------------------------------===//
// Needs: a loop that carries a count of its iterations; stage index = count mod depth, and at least
//        two stages.
// Gives: the release of a stage that an MMA reads until it is waited for in the next iteration.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {

/// Whether `release` is of the stage of this iteration, by a count that its loop carries, so that it
/// may be replaced by that of the stage before.
bool mayReleaseLater(nv::ReleaseOp release);

/// Replaces `release` by one of the stage of the iteration before, after `wait` in the same loop, if
/// there was one, and by one after `last`, which follows the loop, of that of the last iteration.
void releaseLater(nv::ReleaseOp release, mlir::Operation *wait, mlir::Operation *last);

} // namespace pantile
