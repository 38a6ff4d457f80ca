//===- SpillToShared.h - spill values to shared memory across barriers ----------------------===//
// Needs: a kernel's function, finished, whose blocks are in execution order; `slots` 32-bit spill
//        slots for each of `threads`, from byte `offset` of shared memory on (Launch::spills).
// Gives: fp32 values that are live across a barrier are stored after their definition and reloaded
//        shortly before each use after the barrier. What depends on such a use alone moves down
//        to its own last user, so that few reloaded values are live at once.
// How:   Values take slots in the order of their definitions while slots are free, and return them
//        after their last use. The other values stay in registers. The accesses are volatile: else
//        LLVM would forward the stored value.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "llvm/IR/Function.h"

namespace pantile::lower {

/// Spills values of `function` as described above.
void spillToShared(llvm::Function &function, int threads, int offset, int slots);

} // namespace pantile::lower
