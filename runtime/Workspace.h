//===- Workspace.h - how programs of a launch are split over CTAs, and what that takes -===//
// Needs: for memory: a current context, to which the stream belongs.
// Gives: the Cut, and memory of the layout that ir/SplitPrograms.h tells, whose flags are zero.
// How:   launches on one stream follow each other and leave the flags as they were, so a stream
//        keeps its memory. The first eight streams of a context do so for good, since nobody tells
//        when a stream ends; that of another is marked by an event behind each launch, and goes to
//        a new stream once all are taken and the event has come. Each capture of a stream has
//        memory of its own, since graphs run beside what comes later; it is free again when the
//        graph and all that was made of it are gone. Growing takes at least twice as much.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "ir/SplitPrograms.h"
#include <shared_mutex>

namespace pantile {

/// So that all blocks end together or nearly so; as many cycles as possible, since blocks of one
/// place read the same. Of more programs than blocks, cycles take one a block and what is left
/// beyond whole waves; of fewer, all. None where all waves are full.
Cut cutOf(int64_t programs, int blocks);

/// Memory lent to one launch: while this lives, nobody frees it or gives it to another stream.
class Workspace {
public:
  Workspace() = default;
  Workspace(std::shared_lock<std::shared_mutex> lock, CUdeviceptr start, CUevent lastUse)
      : lock(std::move(lock)), address(start), lastUse(lastUse) {}

  /// 0 where there is none: no memory is left, or very many streams and graphs have theirs; then
  /// programs run whole.
  CUdeviceptr start() const { return address; }

  /// To be called when the launch is in the stream.
  void noteLaunch(const Driver &driver, CUstream stream) const {
    if (lastUse)
      driver.eventRecord(lastUse, stream);
  }

private:
  std::shared_lock<std::shared_mutex> lock;
  CUdeviceptr address = 0;
  CUevent lastUse = nullptr;
};

/// For blocks that hand over `bytesOfBlock` each.
Workspace workspaceFor(const Driver &driver, uint64_t stream, int blocks, int64_t bytesOfBlock);

/// Waits for the current context's work and frees what no graph holds. Bytes.
Result<uint64_t> freeWorkspaces(const Driver &driver);

} // namespace pantile
