//===- FakeCupti.cpp - a CUPTI whose kernels take the times that a test says --------------===//
// Needs: the emulated driver (PANTILE_LIBCUDA_PATH), if it is to see that driver's launches.
// Gives: the functions of CuptiApi.def, and `fakeCupti...` for tests: durations, failures, kernels
//        that other libraries launch through the CUDA runtime, graphs.
// How:   a launch calls the subscriber back and adds a record. Records are handed over, a buffer at
//        a time, at a flush, on a thread of its own, as by the real library. Records are of the
//        size of CUDA 13's, with rubbish in all that is not set.
//===------------------------------------------------------------------------------------===//
#include "runtime/profiler/CuptiTypes.h"
#include "tests/ptx/LaunchObserver.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace pantile;

namespace {

constexpr size_t recordBytes = 208;

struct Kernel {
  const char *name;
  uint32_t device, context, stream;
  uint64_t graphNode;
  uint32_t graph;
};

struct State {
  std::recursive_mutex mutex;
  uint32_t version = 130001;
  std::map<std::string, int> failures;
  CuptiCallback callback = nullptr;
  std::set<std::pair<int, uint32_t>> enabled;
  CuptiBufferRequested requested = nullptr;
  CuptiBufferCompleted completed = nullptr;
  bool recordsKernels = false, buffersAreMissing = false;
  std::vector<std::vector<uint8_t>> records;
  std::set<std::string> names;
  std::atomic<uint32_t> correlation = 100;
  uint64_t clock = 1'000'000, duration = 1000, dropped = 0;
};

State &state() {
  static auto *made = new State();
  return *made;
}

int failureOf(const char *function) {
  const auto found = state().failures.find(function);
  return found == state().failures.end() ? 0 : found->second;
}

/// Calls the subscriber, at the start (site 0) or the end of a call.
void call(int domain, uint32_t id, int site, uint32_t correlation, void *context) {
  if (!state().callback || !state().enabled.count({domain, id}))
    return;
  cupti::ApiCall event{};
  event.site = site, event.function = "launch", event.correlation = correlation;
  event.context = static_cast<CUcontext>(context);
  state().callback(nullptr, domain, id, &event);
}

void tellOfNode(uint32_t id, uint64_t node, uint64_t original) {
  if (!state().callback || !state().enabled.count({cupti::Resource, id}))
    return;
  cupti::GraphCall graph{};
  graph.node = reinterpret_cast<CUgraphNode>(node);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  const cupti::ResourceCall event{nullptr, nullptr, &graph};
  state().callback(nullptr, cupti::Resource, id, &event);
}

/// Hands over all records, a buffer at a time.
void deliver() {
  State &all = state();
  std::vector<std::vector<uint8_t>> records;
  {
    const std::lock_guard lock(all.mutex);
    records.swap(all.records);
  }
  size_t next = 0;
  while (next < records.size()) {
    uint8_t *buffer = nullptr;
    size_t bytes = 0, limit = 0, used = 0;
    all.requested(&buffer, &bytes, &limit);
    for (; next < records.size() && used + recordBytes <= bytes; used += recordBytes)
      std::memcpy(buffer + used, records[next++].data(), recordBytes);
    all.completed(nullptr, 0, buffer, bytes, used);
  }
}

void deliverOnThread() { std::thread(deliver).join(); }

void record(const Kernel &kernel, uint32_t correlation) {
  State &all = state();
  const std::lock_guard lock(all.mutex);
  if (!all.recordsKernels)
    return;
  std::vector<uint8_t> bytes(recordBytes, 0xa5);
  auto &made = *reinterpret_cast<cupti::KernelRecord *>(bytes.data());
  made.kind = cupti::concurrentKernelKind;
  made.start = all.duration ? (all.clock += 50) : 0;
  made.end = all.duration ? (all.clock += all.duration) : 0;
  made.device = kernel.device, made.context = kernel.context, made.stream = kernel.stream;
  made.correlation = correlation;
  made.name = all.names.insert(kernel.name).first->c_str();
  made.graphNode = kernel.graphNode, made.graph = kernel.graph;
  all.records.push_back(std::move(bytes));
}

void observe(const ptx::ObservedLaunch &launch) {
  static thread_local uint32_t correlation = 0;
  {
    const std::lock_guard lock(state().mutex);
    if (launch.site == 0)
      correlation = ++state().correlation;
  }
  call(cupti::DriverApi, 652, launch.site, correlation, launch.context);
  if (launch.site == 1 && launch.succeeded)
    record({launch.kernel, uint32_t(launch.device), uint32_t(launch.device) + 1,
            uint32_t(reinterpret_cast<uintptr_t>(launch.stream)), 0, 0},
           correlation);
}

void observeEmulatedDriver(bool isOn) {
  const char *path = std::getenv("PANTILE_LIBCUDA_PATH");
  void *driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (auto *set = driver ? dlsym(driver, "pantileObserveLaunches") : nullptr)
    reinterpret_cast<ptx::SetLaunchObserver *>(set)(isOn ? &observe : nullptr);
}

} // namespace

//===- CUPTI's functions --------------------------------------------------------------------===//

EXPORT int cuptiGetVersion(uint32_t *version) { return *version = state().version, 0; }
EXPORT int cuptiGetResultString(int result, const char **text) {
  *text = result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "the test says so";
  return 0;
}
EXPORT int cuptiSubscribe(CuptiSubscriber *subscriber, CuptiCallback callback, void *) {
  if (const int failure = failureOf("cuptiSubscribe"))
    return failure;
  if (state().callback)
    return 39;
  state().callback = callback, *subscriber = reinterpret_cast<CuptiSubscriber>(&state());
  observeEmulatedDriver(true);
  return 0;
}
EXPORT int cuptiUnsubscribe(CuptiSubscriber) {
  observeEmulatedDriver(false);
  return state().callback = nullptr, state().enabled.clear(), 0;
}
EXPORT int cuptiEnableCallback(uint32_t, CuptiSubscriber, int domain, uint32_t id) {
  if (const int failure = failureOf("cuptiEnableCallback"))
    return failure;
  return state().enabled.insert({domain, id}), 0;
}
EXPORT int cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  return *id = reinterpret_cast<uint64_t>(node), 0;
}
EXPORT int cuptiActivityRegisterCallbacks(CuptiBufferRequested requested,
                                          CuptiBufferCompleted completed) {
  return state().requested = requested, state().completed = completed, 0;
}
EXPORT int cuptiActivityEnable(int kind) {
  if (const int failure = failureOf("cuptiActivityEnable"))
    return failure;
  return state().recordsKernels = kind == cupti::concurrentKernelKind, 0;
}
EXPORT int cuptiActivityDisable(int) { return state().recordsKernels = false, 0; }
EXPORT int cuptiActivityFlushAll(uint32_t) {
  if (const int failure = failureOf("cuptiActivityFlushAll"))
    return failure;
  return deliverOnThread(), 0;
}
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record) {
  uint8_t *next = *record ? static_cast<uint8_t *>(*record) + recordBytes : buffer;
  if (next + recordBytes > buffer + bytes)
    return cupti::maxLimitReached;
  return *record = next, 0;
}
EXPORT int cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
  return *dropped = std::exchange(state().dropped, 0), 0;
}

//===- for tests ----------------------------------------------------------------------------===//

EXPORT void fakeCuptiSetVersion(uint32_t version) { state().version = version; }
EXPORT void fakeCuptiFail(const char *function, int result) { state().failures[function] = result; }
EXPORT void fakeCuptiDrop(uint64_t count) { state().dropped = count; }
/// Nanoseconds of each kernel from now on; 0: their records have no times.
EXPORT void fakeCuptiSetDuration(uint64_t nanoseconds) { state().duration = nanoseconds; }
EXPORT int fakeCuptiIsSubscribed() { return state().callback != nullptr; }

/// A launch through the CUDA runtime, which calls the driver with an id of its own, or with the
/// same one.
EXPORT void fakeCuptiLaunch(const char *name, uint32_t device, uint32_t stream, int hasOwnIds) {
  const uint32_t outer = ++state().correlation;
  const uint32_t inner = hasOwnIds ? ++state().correlation : outer;
  call(cupti::RuntimeApi, 211, 0, outer, nullptr);
  call(cupti::DriverApi, 307, 0, inner, nullptr);
  record({name, device, device + 1, stream, 0, 0}, outer);
  call(cupti::DriverApi, 307, 1, inner, nullptr);
  call(cupti::RuntimeApi, 211, 1, outer, nullptr);
}
/// A launch that is captured: it makes a node and no record.
EXPORT void fakeCuptiCapture(uint64_t node) {
  const uint32_t correlation = ++state().correlation;
  call(cupti::DriverApi, 307, 0, correlation, nullptr);
  tellOfNode(cupti::GraphNodeCreated, node, 0);
  call(cupti::DriverApi, 307, 1, correlation, nullptr);
}
EXPORT void fakeCuptiCloneNode(uint64_t original, uint64_t node) {
  tellOfNode(cupti::GraphNodeCloned, node, original);
}
/// A launch of graph 7, which has these nodes.
EXPORT void fakeCuptiLaunchGraph(const char *const *names, const uint64_t *nodes, int count) {
  const uint32_t correlation = ++state().correlation;
  call(cupti::DriverApi, 514, 0, correlation, nullptr);
  for (int i = 0; i < count; ++i)
    record({names[i], 0, 1, 13, nodes[i], 7}, correlation);
  call(cupti::DriverApi, 514, 1, correlation, nullptr);
}
