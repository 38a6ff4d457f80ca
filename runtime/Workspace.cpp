//===- Workspace.cpp - how programs of a launch are split over CTAs --------------------===//
// Gives: see Workspace.h; releaseWorkspaces of pantile/Runtime.h.
// How:   launches find and use memory side by side, under a shared lock; what changes the list of it
//        has the lock alone. The end of a graph is told by a callback, which may only note it.
//===------------------------------------------------------------------------------------===//
#include "runtime/Workspace.h"
#include "cuda/Device.h"
#include "cuda/LostContext.h"
#include "cuda/RelaxedCapture.h"
#include "pantile/Runtime.h"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace pantile {
namespace {

constexpr int mostWorkspaces = 64; // of a context
constexpr int mostKept = 8;        // of them by streams on which nothing is recorded

/// Launches with the same one run one after the other.
struct Queue {
  uint64_t context = 0;           ///< its number where the driver tells, else its address
  unsigned long long stream = 0;  ///< its number, unlike its handle never used again
  unsigned long long capture = 0; ///< the number of the capture; 0: launches run at once
  std::thread::id thread;         ///< of a thread's own default stream
  bool operator==(const Queue &) const = default;
};

struct Asker {
  Queue queue;
  CUstream stream = nullptr;
  CUgraph graph = nullptr; ///< that is being captured
};

struct Memory {
  Queue queue;
  bool isLent = false; ///< to the queue; else just of its context
  CUdeviceptr start = 0;
  size_t bytes = 0;
  CUevent lastUse = nullptr;                      ///< of a stream that does not keep it
  std::unique_ptr<std::atomic<bool>> graphIsGone; ///< null: not of a graph

  bool isFree() const { return graphIsGone ? graphIsGone->load() : !isLent; }
};

bool findContext(const Driver &driver, uint64_t &number) {
  CUcontext context = nullptr;
  unsigned long long told = 0;
  if (driver.ctxGetCurrent(&context) != 0)
    return false;
  const bool isTold = driver.ctxGetId && driver.ctxGetId(context, &told) == 0;
  number = isTold ? told : reinterpret_cast<uint64_t>(context);
  return true;
}

bool findQueue(const Driver &driver, uint64_t stream, Asker &asker) {
  constexpr uint64_t legacyStream = 1, perThreadStream = 2;
  Queue &queue = asker.queue;
  asker.stream = reinterpret_cast<CUstream>(stream);
  if (!findContext(driver, queue.context))
    return false;
  if (stream <= legacyStream)
    return true;
  if (stream == perThreadStream)
    queue.thread = std::this_thread::get_id();
  queue.stream = stream;
  int status = 0;
  if (driver.streamIsCapturing && driver.streamIsCapturing(asker.stream, &status) == 0 &&
      status != 0)
    return driver.streamGetCaptureInfo &&
           driver.streamGetCaptureInfo(asker.stream, &status, &queue.capture, &asker.graph, nullptr,
                                       nullptr) == 0;
  if (driver.streamGetId) // which would end a capture
    driver.streamGetId(asker.stream, &queue.stream);
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

/// At least `bytes`, in place of what is there if that is less; nobody uses it any more.
bool enlarge(const Driver &driver, Memory &memory, size_t bytes) {
  CUdeviceptr start = 0;
  if (memory.bytes >= bytes)
    return true;
  if (driver.memAlloc(&start, bytes) != 0)
    return false;
  if (!clear(driver, start, splitFlagBytes)) {
    driver.memFree(start);
    return false;
  }
  if (memory.start)
    driver.memFree(memory.start);
  memory.start = start, memory.bytes = bytes;
  return true;
}

/// Has `isGone` set once the graph is gone, and all that it was copied or instantiated to; also
/// where that fails, but then the memory must not go into the graph.
bool watch(const Driver &driver, CUgraph graph, std::atomic<bool> &isGone) {
  constexpr unsigned noDestructorSync = 1; // CU_USER_OBJECT_NO_DESTRUCTOR_SYNC: all there is
  constexpr unsigned move = 1;             // CU_GRAPH_USER_OBJECT_MOVE
  auto note = [](void *gone) { static_cast<std::atomic<bool> *>(gone)->store(true); };
  CUuserObject object = nullptr;
  if (!driver.userObjectCreate || !driver.userObjectRelease || !driver.graphRetainUserObject ||
      driver.userObjectCreate(&object, &isGone, note, 1, noDestructorSync) != 0) {
    isGone = true;
    return false;
  }
  if (driver.graphRetainUserObject(graph, object, 1, move) == 0)
    return true;
  driver.userObjectRelease(object, 1);
  return false;
}

class Workspaces {
public:
  /// Never destroyed: graphs may outlive what is static.
  static Workspaces &shared() {
    static auto *const workspaces = new Workspaces();
    return *workspaces;
  }

  Workspace lend(const Driver &driver, const Asker &asker, size_t bytes) {
    std::shared_lock lock(mutex);
    const Memory *own = find(asker.queue, bytes);
    if (!own) {
      lock.unlock();
      provide(driver, asker, bytes);
      lock.lock();
      own = find(asker.queue, bytes);
    }
    return own ? Workspace(std::move(lock), own->start, own->lastUse) : Workspace();
  }

  uint64_t freeUnused(const Driver &driver, uint64_t context);

  std::shared_mutex mutex;

private:
  std::vector<Memory> all; // what was lent last stands last

  Memory *find(const Queue &queue, size_t bytes) {
    auto found = std::ranges::find_if(all, [&](const Memory &memory) {
      return memory.queue == queue && memory.isLent && !memory.isFree() && memory.bytes >= bytes;
    });
    return found == all.end() ? nullptr : &*found;
  }

  template <typename Predicate> Memory *takeFirst(uint64_t context, Predicate isGood) {
    auto found = std::ranges::find_if(all, [&](const Memory &memory) {
      return memory.queue.context == context && isGood(memory);
    });
    if (found == all.end())
      return nullptr;
    std::rotate(found, found + 1, all.end());
    return &all.back();
  }

  template <typename Predicate> int count(uint64_t context, Predicate isMeant) const {
    return std::ranges::count_if(all, [&](const Memory &memory) {
      return memory.queue.context == context && isMeant(memory);
    });
  }

  void provide(const Driver &driver, const Asker &asker, size_t bytes);
  Memory *takeFree(const Driver &driver, uint64_t context);
  void give(const Driver &driver, const Asker &asker, Memory &memory);
};

void Workspaces::provide(const Driver &driver, const Asker &asker, size_t bytes) {
  const RelaxedCapture relaxed(driver.threadExchangeStreamCaptureMode);
  std::lock_guard lock(mutex);
  if (find(asker.queue, bytes)) // another thread was faster
    return;
  if (Memory *small = asker.graph ? nullptr : find(asker.queue, 0)) {
    if (driver.streamSynchronize && driver.streamSynchronize(asker.stream) == 0)
      enlarge(driver, *small, std::max(bytes, 2 * small->bytes));
    return;
  }
  Memory *memory = takeFree(driver, asker.queue.context);
  if (memory && enlarge(driver, *memory, bytes))
    give(driver, asker, *memory);
  std::erase_if(all, [](const Memory &memory) { return memory.start == 0; });
}

/// Memory of graphs that are gone comes before more memory, and that before what a stream may want
/// again.
Memory *Workspaces::takeFree(const Driver &driver, uint64_t context) {
  Memory *taken = takeFirst(context, [](const Memory &memory) { return memory.isFree(); });
  if (!taken && count(context, [](const Memory &) { return true; }) < mostWorkspaces) {
    taken = &all.emplace_back();
    taken->queue.context = context;
  }
  if (!taken)
    taken = takeFirst(context, [&](const Memory &memory) {
      return memory.lastUse && driver.eventQuery && driver.eventQuery(memory.lastUse) == 0;
    });
  if (taken)
    taken->isLent = false, taken->graphIsGone.reset();
  return taken;
}

void Workspaces::give(const Driver &driver, const Asker &asker, Memory &memory) {
  constexpr unsigned disableTiming = 2; // CU_EVENT_DISABLE_TIMING
  memory.queue = asker.queue;
  if (asker.graph) {
    if (memory.lastUse)
      driver.eventDestroy(std::exchange(memory.lastUse, nullptr));
    memory.graphIsGone = std::make_unique<std::atomic<bool>>(false);
    memory.isLent = watch(driver, asker.graph, *memory.graphIsGone);
    return;
  }
  auto isKept = [](const Memory &other) { return !other.lastUse && !other.graphIsGone; };
  if (isKept(memory) && count(asker.queue.context, isKept) > mostKept)
    memory.isLent = driver.eventCreate && driver.eventRecord && driver.eventDestroy &&
                    driver.eventCreate(&memory.lastUse, disableTiming) == 0;
  else
    memory.isLent = true;
}

uint64_t Workspaces::freeUnused(const Driver &driver, uint64_t context) {
  uint64_t bytes = 0;
  std::erase_if(all, [&](Memory &memory) {
    if (memory.queue.context != context || (memory.graphIsGone && !memory.isFree()))
      return false;
    driver.memFree(memory.start);
    if (memory.lastUse)
      driver.eventDestroy(memory.lastUse);
    bytes += memory.bytes;
    return true;
  });
  return bytes;
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

Workspace workspaceFor(const Driver &driver, uint64_t stream, int blocks, int64_t bytesOfBlock) {
  Asker asker;
  if (blocks > mostSplitBlocks || !findQueue(driver, stream, asker))
    return {};
  const size_t bytes = splitFlagBytes + static_cast<size_t>(blocks * bytesOfBlock);
  return Workspaces::shared().lend(driver, asker, bytes);
}

Result<uint64_t> freeWorkspaces(const Driver &driver) {
  Workspaces &workspaces = Workspaces::shared();
  uint64_t context = 0;
  if (!findContext(driver, context))
    return uint64_t(0);
  std::lock_guard lock(workspaces.mutex);
  if (CUresult result = driver.ctxSynchronize())
    return failureOf(driver, result, "waiting for the launches that use workspaces");
  return workspaces.freeUnused(driver, context);
}

Result<uint64_t> releaseWorkspaces(int device) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = ContextScope::enter(**driver, device);
  return scope ? freeWorkspaces(**driver) : scope.error();
}

} // namespace pantile
