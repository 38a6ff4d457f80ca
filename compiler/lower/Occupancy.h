//===- Occupancy.h - blocks that should share an SM ------------------------------===//
// Needs: a kernel at its last stage, with layouts.
// Gives: the number that the assembler is told, for kernels that wait for memory in loops, hold
//        much at once, or do nothing but compute with what they load.
// How:   told nothing, the assembler saves registers for more warps, by using each loaded vector
//        before it asks for the next. Such a loop waits for memory once a vector instead of once an
//        iteration. So it gets the least budget (64, 128, then all registers) that holds what is
//        alive at once in tiles, and what is loaded together is in flight together. Of large blocks
//        it spills what would fit. Where all is computed element by element, at most to be summed
//        up then, it even puts a load behind all that is computed from the one before. Kernels with
//        products have budgets of their own: those whose waits other blocks shall fill must have
//        room for these.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/Target.h"

namespace pantile::lower {

/// Nothing where the assembler's own choice is left.
std::optional<int> leastBlocks(mlir::func::FuncOp kernel, int threads, const Target &target);

} // namespace pantile::lower
