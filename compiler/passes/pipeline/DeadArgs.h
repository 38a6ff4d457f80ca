//===- DeadArgs.h - remove dead loop-carried values ---------------------------------------===//
// Needs: nothing.
// Gives: what the pass DropDeadArgs does, for the loops in one MLIR block.
//===--------------------------------------------------------------------------------------===//
#pragma once

namespace mlir {
class Block;
}

namespace pantile {
/// Removes dead loop-carried values of all loops in `body`; true if there were any.
bool dropDeadArgs(mlir::Block &body);
} // namespace pantile
