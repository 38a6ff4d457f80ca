//===- Workspace.h - device memory in which blocks of a launch hand parts of sums over -----===//
// Needs: a current context, to which the stream belongs.
// Gives: memory of the layout that ir/SplitPrograms.h tells, whose flags are zero.
// How:   launches on one stream follow each other and leave the flags as they were, so a stream
//        keeps its memory; so does each capture of a stream, since graphs run beside what comes
//        later, and the default stream of each thread. Nothing is given back while the process
//        lives: a launch may still be using it. Growing takes at least twice as much as before.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "runtime/Driver.h"

namespace pantile {

/// For blocks that hand over `bytesOfBlock` each. 0 where there is none: no memory is left, or very
/// many streams have theirs; then programs run whole.
CUdeviceptr workspaceFor(const Driver &driver, uint64_t stream, int blocks, int64_t bytesOfBlock);

} // namespace pantile
