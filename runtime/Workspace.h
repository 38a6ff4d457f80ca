//===- Workspace.h - how programs of a launch are cut between blocks, and what that takes -===//
// Needs: for memory: a current context, to which the stream belongs.
// Gives: the Cut, and memory of the layout that ir/SplitPrograms.h tells, whose flags are zero.
// How:   launches on one stream follow each other and leave the flags as they were, so a stream
//        keeps its memory; so does each capture of a stream, since graphs run beside what comes
//        later, and the default stream of each thread. Nothing is given back while the process
//        lives: a launch may still be using it. Growing takes at least twice as much as before.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/SplitPrograms.h"
#include "runtime/Driver.h"

namespace pantile {

/// So that all blocks end together or nearly so; as many cycles as possible, since blocks of one
/// place read the same. Of more programs than blocks, cycles take one a block and what is left
/// beyond whole waves; of fewer, all. None where all waves are full.
Cut cutOf(int64_t programs, int blocks);

/// For blocks that hand over `bytesOfBlock` each. 0 where there is none: no memory is left, or very
/// many streams have theirs; then programs run whole.
CUdeviceptr workspaceFor(const Driver &driver, uint64_t stream, int blocks, int64_t bytesOfBlock);

} // namespace pantile
