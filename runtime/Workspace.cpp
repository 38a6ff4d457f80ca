//===- Workspace.cpp - stream-K: memory for partial tiles ---------------------------------===//
// Gives: see Workspace.h; releaseWorkspaces of pantile/Runtime.h.
// How:   launches find and use memory concurrently, under a shared lock; changes of the list hold the
//        lock exclusively. A callback reports the end of a graph; it may only set a flag.
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

constexpr int mostWorkspaces = 64;    // of a context
constexpr int mostKept = 8;           // of them by streams that record no events
constexpr unsigned disableTiming = 2; // CU_EVENT_DISABLE_TIMING

/// Launches of one queue run in order.
struct Queue {
  uint64_t context = 0;           ///< its id if the driver has ids, else its address
  unsigned long long stream = 0;  ///< its id, which unlike its handle is never reused
  unsigned long long capture = 0; ///< the id of the capture; 0: launches are not captured
  std::thread::id thread;         ///< of a thread's own default stream
  bool operator==(const Queue &) const = default;
};

struct Requester {
  Queue queue;
  CUstream stream = nullptr;
  CUgraph graph = nullptr; ///< that is being captured
};

struct Memory {
  Queue queue;
  bool isLent = false;    ///< to the queue; else only the queue's context counts
  bool isRetired = false; ///< too small for the queue's next launches; free after `lastUse`
  CUdeviceptr start = 0;
  size_t bytes = 0;
  CUevent lastUse = nullptr;                      ///< of a stream that does not keep it
  std::unique_ptr<std::atomic<bool>> graphIsGone; ///< null: not of a graph

  bool isFree() const { return graphIsGone ? graphIsGone->load() : !isLent; }
};

bool findContext(const Driver &driver, uint64_t &number) {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  if (driver.ctxGetCurrent(&context) != 0)
    return false;
  const bool hasId = driver.ctxGetId && driver.ctxGetId(context, &id) == 0;
  number = hasId ? id : reinterpret_cast<uint64_t>(context);
  return true;
}

bool findQueue(const Driver &driver, uint64_t stream, Requester &requester) {
  constexpr uint64_t legacyStream = 1, perThreadStream = 2;
  Queue &queue = requester.queue;
  requester.stream = reinterpret_cast<CUstream>(stream);
  if (!findContext(driver, queue.context))
    return false;
  if (stream <= legacyStream)
    return true;
  if (stream == perThreadStream)
    queue.thread = std::this_thread::get_id();
  queue.stream = stream;
  int status = 0;
  if (driver.streamIsCapturing && driver.streamIsCapturing(requester.stream, &status) == 0 &&
      status != 0)
    return driver.streamGetCaptureInfo &&
           driver.streamGetCaptureInfo(requester.stream, &status, &queue.capture, &requester.graph,
                                       nullptr, nullptr) == 0;
  if (driver.streamGetId) // which would end a capture
    driver.streamGetId(requester.stream, &queue.stream);
  return true;
}

/// Zeroes memory and waits for it, on a stream of its own that is not captured.
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

/// Zeroes memory for launches of the requester. What is queued on its stream waits for that, and
/// nothing else; a capture, which would record it, waits here.
bool clearFor(const Driver &driver, const Requester &requester, CUdeviceptr start, size_t bytes) {
  if (requester.graph)
    return clear(driver, start, bytes);
  return driver.memsetAsync && driver.memsetAsync(start, 0, bytes, requester.stream) == 0;
}

/// Replaces the memory if it has less than `bytes`. No launch may use it any more.
bool enlarge(const Driver &driver, const Requester &requester, Memory &memory, size_t bytes) {
  CUdeviceptr start = 0;
  if (memory.bytes >= bytes)
    return true;
  if (driver.memAlloc(&start, bytes) != 0)
    return false;
  if (!clearFor(driver, requester, start, splitFlagBytes)) {
    driver.memFree(start);
    return false;
  }
  if (memory.start)
    driver.memFree(memory.start);
  memory.start = start, memory.bytes = bytes;
  return true;
}

/// Has `isGone` set when the graph and all its copies and instances are destroyed. If that fails,
/// `isGone` will be set as well, but the memory must not go into the graph.
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

  Workspace lend(const Driver &driver, const Requester &requester, size_t bytes) {
    std::shared_lock lock(mutex);
    const Memory *own = find(requester.queue, bytes);
    if (!own) {
      lock.unlock();
      provide(driver, requester, bytes);
      lock.lock();
      own = find(requester.queue, bytes);
    }
    return own ? Workspace(std::move(lock), own->start, own->lastUse) : Workspace();
  }

  uint64_t freeUnused(const Driver &driver, uint64_t context);

  std::shared_mutex mutex;

private:
  std::vector<Memory> all; // the one lent last is last

  Memory *find(const Queue &queue, size_t bytes) {
    auto found = std::ranges::find_if(all, [&](const Memory &memory) {
      return memory.queue == queue && memory.isLent && !memory.isRetired && !memory.isFree() &&
             memory.bytes >= bytes;
    });
    return found == all.end() ? nullptr : &*found;
  }

  template <typename Predicate> Memory *takeFirst(uint64_t context, Predicate isSuitable) {
    auto found = std::ranges::find_if(all, [&](const Memory &memory) {
      return memory.queue.context == context && isSuitable(memory);
    });
    if (found == all.end())
      return nullptr;
    std::rotate(found, found + 1, all.end());
    return &all.back();
  }

  template <typename Predicate> int count(uint64_t context, Predicate isCounted) const {
    return std::ranges::count_if(all, [&](const Memory &memory) {
      return memory.queue.context == context && isCounted(memory);
    });
  }

  void provide(const Driver &driver, const Requester &requester, size_t bytes);
  bool retire(const Driver &driver, const Requester &requester, Memory &memory);
  Memory *takeFree(const Driver &driver, uint64_t context);
  void give(const Driver &driver, const Requester &requester, Memory &memory);
};

void Workspaces::provide(const Driver &driver, const Requester &requester, size_t bytes) {
  const RelaxedCapture relaxed(driver.threadExchangeStreamCaptureMode);
  std::lock_guard lock(mutex);
  if (find(requester.queue, bytes)) // another thread has provided it
    return;
  if (Memory *small = requester.graph ? nullptr : find(requester.queue, 0)) {
    if (!retire(driver, requester, *small))
      return;
    bytes = std::max(bytes, 2 * small->bytes);
  }
  Memory *memory = takeFree(driver, requester.queue.context);
  if (memory && enlarge(driver, requester, *memory, bytes))
    give(driver, requester, *memory);
  std::erase_if(all, [](const Memory &memory) { return memory.start == 0; });
}

/// Takes `memory` from its stream without a wait for the launches that use it.
bool Workspaces::retire(const Driver &driver, const Requester &requester, Memory &memory) {
  memory.isRetired = driver.eventCreate && driver.eventRecord && driver.eventDestroy &&
                     (memory.lastUse || driver.eventCreate(&memory.lastUse, disableTiming) == 0) &&
                     driver.eventRecord(memory.lastUse, requester.stream) == 0;
  return memory.isRetired;
}

/// Takes memory of destroyed graphs first, then new memory, then that of a stream that may need it
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
    taken->isLent = taken->isRetired = false, taken->graphIsGone.reset();
  return taken;
}

void Workspaces::give(const Driver &driver, const Requester &requester, Memory &memory) {
  memory.queue = requester.queue;
  if (requester.graph) {
    if (memory.lastUse)
      driver.eventDestroy(std::exchange(memory.lastUse, nullptr));
    memory.graphIsGone = std::make_unique<std::atomic<bool>>(false);
    memory.isLent = watch(driver, requester.graph, *memory.graphIsGone);
    return;
  }
  auto isKept = [](const Memory &other) { return !other.lastUse && !other.graphIsGone; };
  if (isKept(memory) && count(requester.queue.context, isKept) > mostKept)
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

Workspace workspaceFor(const Driver &driver, uint64_t stream, int ctas, int64_t bytesPerCta) {
  Requester requester;
  if (ctas > mostSplitCtas || !findQueue(driver, stream, requester))
    return {};
  const size_t bytes = splitFlagBytes + static_cast<size_t>(ctas * bytesPerCta);
  return Workspaces::shared().lend(driver, requester, bytes);
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
