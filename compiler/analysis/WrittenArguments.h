//===- WrittenArguments.h - the arguments through which a kernel writes ------------===//
// Needs: tile IR of one kernel.
// Gives: the numbers, in order, of the pointer arguments through which stores, atomics and calls
//        with effects may write. Arguments do not point to addresses that were loaded from memory.
// How:   A backward walk from each written pointer: through operands that are pointers, or integers
//        that become one, and through what regions take and yield.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace pantile {

std::vector<int> writtenArguments(mlir::ModuleOp module);

} // namespace pantile
