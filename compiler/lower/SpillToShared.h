//===- SpillToShared.h - words of a thread that wait in shared memory ----------------------------===//
// Needs: a kernel's function, finished, whose blocks stand in the order in which they run; `slots`
//        words for each of `threads` from byte `offset` of shared memory on (ir/ParkedRows.h).
// Gives: numbers that are held over a barrier are stored where they are computed, and loaded again
//        a few words in front of each use behind the barrier, which moves down to where the last of
//        what follows from it alone is.
// How:   values take slots in the order of their definitions, as long as one is free, and give them
//        back behind their last use. The rest stay in registers. The accesses are volatile: nothing
//        else keeps LLVM from forwarding what was stored.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "llvm/IR/Function.h"

namespace pantile::lower {

void parkRows(llvm::Function &function, int threads, int offset, int slots);

} // namespace pantile::lower
