//===- DeadArgs.h - remove loop-carried values that only feed themselves ------------------===//
// What the pass DropDeadArgs does, for one block and the loops inside it.
//===--------------------------------------------------------------------------------------===//
#pragma once

namespace mlir {
class Block;
}

namespace pantile {
/// True if something was removed.
bool dropDeadArgs(mlir::Block &body);
} // namespace pantile
