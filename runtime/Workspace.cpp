//===- Workspace.cpp - how programs of a launch are cut between blocks --------------------===//
// Gives: see Workspace.h.
//===------------------------------------------------------------------------------------===//
#include "runtime/Workspace.h"
#include "runtime/RelaxedCapture.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

namespace pantile {
namespace {

constexpr int mostWorkspaces = 64; // of a context

/// Launches with the same one run one after the other.
struct Queue {
  CUcontext context = nullptr;
  unsigned long long stream = 0;  ///< its number, unlike its handle never used again
  unsigned long long capture = 0; ///< the number of the capture; 0: launches run at once
  std::thread::id thread;         ///< of a thread's own default stream
  auto operator<=>(const Queue &) const = default;
};

struct Workspace {
  CUdeviceptr start = 0;
  size_t bytes = 0;
};

bool findQueue(const Driver &driver, uint64_t stream, Queue &queue) {
  constexpr uint64_t legacyStream = 1, perThreadStream = 2;
  const auto handle = reinterpret_cast<CUstream>(stream);
  if (driver.ctxGetCurrent(&queue.context) != 0)
    return false;
  if (stream <= legacyStream)
    return true;
  if (stream == perThreadStream)
    queue.thread = std::this_thread::get_id();
  queue.stream = stream;
  int status = 0;
  if (driver.streamIsCapturing && driver.streamIsCapturing(handle, &status) == 0 && status != 0)
    return driver.streamGetCaptureInfo &&
           driver.streamGetCaptureInfo(handle, &status, &queue.capture, nullptr, nullptr,
                                       nullptr) == 0;
  if (driver.streamGetId) // which would end a capture
    driver.streamGetId(handle, &queue.stream);
  return true;
}

/// Zeros, once they are there: on a stream that no capture can be about.
bool clear(const Driver &driver, CUdeviceptr start, size_t bytes) {
  constexpr unsigned nonBlocking = 1; // CU_STREAM_NON_BLOCKING
  CUstream stream = nullptr;
  if (!driver.streamCreate || !driver.streamSynchronize || !driver.streamDestroy ||
      !driver.memsetAsync || driver.streamCreate(&stream, nonBlocking) != 0)
    return false;
  const bool done =
      driver.memsetAsync(start, 0, bytes, stream) == 0 && driver.streamSynchronize(stream) == 0;
  driver.streamDestroy(stream);
  return done;
}

Workspace make(const Driver &driver, size_t bytes) {
  const RelaxedCapture relaxed(driver.threadExchangeStreamCaptureMode);
  Workspace made{0, bytes};
  if (driver.memAlloc(&made.start, bytes) != 0)
    return {};
  if (clear(driver, made.start, splitFlagBytes))
    return made;
  driver.memFree(made.start);
  return {};
}

} // namespace

Cut cutOf(int64_t programs, int blocks) {
  const int rest = static_cast<int>(programs % blocks);
  if (rest == 0)
    return {};
  if (programs < blocks) {
    constexpr double almostAll = 0.85;
    const int each = blocks / rest;
    return each * rest >= almostAll * blocks ? Cut{rest, each, 1} : Cut{1, blocks, rest};
  }
  constexpr int mostInCycle = 8;
  Cut best;
  auto consider = [&](int inCycle, int extra) {
    const int cycles = rest / extra;
    if (extra < inCycle && rest % extra == 0 && inCycle * cycles <= blocks &&
        (best.cycles == 0 || (inCycle + extra) * best.blocks < best.programs * inCycle))
      best = {cycles, inCycle, inCycle + extra};
  };
  consider(blocks / rest, 1);
  for (int inCycle = 2; inCycle <= mostInCycle; ++inCycle)
    consider(inCycle, (rest * inCycle + blocks - 1) / blocks);
  return best;
}

CUdeviceptr workspaceFor(const Driver &driver, uint64_t stream, int blocks, int64_t bytesOfBlock) {
  static std::mutex mutex;
  static std::map<Queue, Workspace> workspaces;
  Queue queue;
  if (blocks > mostSplitBlocks || !findQueue(driver, stream, queue))
    return 0;
  const size_t bytes = splitFlagBytes + static_cast<size_t>(blocks * bytesOfBlock);
  std::lock_guard lock(mutex);
  auto known = workspaces.find(queue);
  if (known == workspaces.end()) {
    auto isBeside = [&](const auto &other) { return other.first.context == queue.context; };
    if (std::ranges::count_if(workspaces, isBeside) >= mostWorkspaces)
      return 0;
    known = workspaces.try_emplace(queue).first;
  }
  Workspace &own = known->second;
  if (own.bytes < bytes)
    if (Workspace larger = make(driver, std::max(bytes, 2 * own.bytes)); larger.start)
      own = larger;
  return own.bytes < bytes ? 0 : own.start;
}

} // namespace pantile
