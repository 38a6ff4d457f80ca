//===- WrittenArguments.h - the arguments through which a kernel writes ---------------------===//
// Needs: tile IR of one kernel.
// Gives: the numbers of the pointer arguments that stores, atomics and calls with effects may go
//        through, in order. Not those whose address was loaded from memory: no argument points
//        there.
// How:   from each written pointer back to where it came from: through all operands that are
//        pointers, or integers on the way to one, and through what regions take in and yield.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace pantile {

std::vector<int> writtenArguments(mlir::ModuleOp module);

} // namespace pantile
