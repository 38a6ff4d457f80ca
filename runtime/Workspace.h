//===- Workspace.h - stream-K: memory for partial tiles -----------------------------------===//
// Needs: for memory: a current context, to which the stream belongs.
// Gives: memory with the layout of support/WorkSplit.h, whose flags are zero.
// How:   launches on one stream run in order and leave the flags zero, so a stream keeps its
//        memory. The first eight streams of a context keep it for good, since the driver does not
//        report the end of a stream. Other streams record an event after each launch; when all
//        memory is in use, memory whose event has completed goes to a new stream. Each capture has
//        memory of its own, since a graph may run at the same time as later launches; it is free
//        again when the graph and all its copies and instances are destroyed. Memory grows by a
//        factor of two at least: the stream gets other memory, and what it had is free when its
//        launches have ended. No launch waits for others.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "support/WorkSplit.h"
#include <shared_mutex>

namespace pantile {

/// Memory lent to one launch: while this lives, it is neither freed nor given to another stream.
class Workspace {
public:
  Workspace() = default;
  Workspace(std::shared_lock<std::shared_mutex> lock, CUdeviceptr start, CUevent lastUse)
      : lock(std::move(lock)), address(start), lastUse(lastUse) {}

  /// 0 if there is none: the GPU is full, or too many streams and graphs have theirs. Then programs
  /// are not split.
  CUdeviceptr start() const { return address; }

  /// Call it when the launch is in the stream.
  void noteLaunch(const Driver &driver, CUstream stream) const {
    if (lastUse)
      driver.eventRecord(lastUse, stream);
  }

private:
  std::shared_lock<std::shared_mutex> lock;
  CUdeviceptr address = 0;
  CUevent lastUse = nullptr;
};

/// Memory for partial tiles of `bytesPerCta` each.
Workspace workspaceFor(const Driver &driver, uint64_t stream, int ctas, int64_t bytesPerCta);

/// Waits for the current context's work, frees what no graph uses, and returns the bytes.
Result<uint64_t> freeWorkspaces(const Driver &driver);

} // namespace pantile
