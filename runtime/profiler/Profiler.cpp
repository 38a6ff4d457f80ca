//===- Profiler.cpp - execution times of all kernels of the process, from CUPTI -----------===//
// Needs: see pantile/Profiler.h.
// Gives: its functions.
// How:   while a profile runs, CUPTI calls back at the start and end of every launch, with the
//        correlation id that the kernel's record has later, and hands over buffers of records. Both
//        happen on threads of the program or of CUPTI. To read all records, the profiler
//        synchronises every context with launches, then flushes CUPTI.
//===------------------------------------------------------------------------------------===//
#include "pantile/Profiler.h"
#include "runtime/profiler/Records.h"
#include <cstdlib>
#include <set>

namespace pantile {
namespace {

constexpr size_t bufferBytes = size_t(1) << 20, bufferAlignment = 8;

struct CallbackId {
  int domain;
  uint32_t id;
  bool hasMany; ///< a launch of more than one kernel
};

/// Numbers of cupti_driver_cbid.h and cupti_runtime_cbid.h, which versions only add to.
constexpr CallbackId launchCallbacks[] = {
    {cupti::DriverApi, 115, false},  // cuLaunch
    {cupti::DriverApi, 116, false},  // cuLaunchGrid
    {cupti::DriverApi, 117, false},  // cuLaunchGridAsync
    {cupti::DriverApi, 307, false},  // cuLaunchKernel
    {cupti::DriverApi, 442, false},  // cuLaunchKernel_ptsz
    {cupti::DriverApi, 477, false},  // cuLaunchCooperativeKernel
    {cupti::DriverApi, 478, false},  // cuLaunchCooperativeKernel_ptsz
    {cupti::DriverApi, 480, true},   // cuLaunchCooperativeKernelMultiDevice
    {cupti::DriverApi, 514, true},   // cuGraphLaunch
    {cupti::DriverApi, 515, true},   // cuGraphLaunch_ptsz
    {cupti::DriverApi, 652, false},  // cuLaunchKernelEx
    {cupti::DriverApi, 653, false},  // cuLaunchKernelEx_ptsz
    {cupti::RuntimeApi, 13, false},  // cudaLaunch
    {cupti::RuntimeApi, 211, false}, // cudaLaunchKernel
    {cupti::RuntimeApi, 213, false}, // cudaLaunch_ptsz
    {cupti::RuntimeApi, 214, false}, // cudaLaunchKernel_ptsz
    {cupti::RuntimeApi, 269, false}, // cudaLaunchCooperativeKernel
    {cupti::RuntimeApi, 270, false}, // cudaLaunchCooperativeKernel_ptsz
    {cupti::RuntimeApi, 272, true},  // cudaLaunchCooperativeKernelMultiDevice
    {cupti::RuntimeApi, 311, true},  // cudaGraphLaunch
    {cupti::RuntimeApi, 312, true},  // cudaGraphLaunch_ptsz
    {cupti::RuntimeApi, 430, false}, // cudaLaunchKernelExC
    {cupti::RuntimeApi, 431, false}, // cudaLaunchKernelExC_ptsz
    {cupti::RuntimeApi, 505, false}, // __cudaLaunchKernel
    {cupti::RuntimeApi, 506, false}, // __cudaLaunchKernel_ptsz
};
constexpr uint32_t launchKernelId = 307;

constexpr uint32_t resourceCallbacks[] = {cupti::ContextDestroyed, cupti::GraphNodeCreated,
                                          cupti::GraphNodeCloned};

bool launchesMany(int domain, uint32_t id) {
  for (const CallbackId &row : launchCallbacks)
    if (row.domain == domain && row.id == id)
      return row.hasMany;
  return false;
}

/// The one profile of the process; never destroyed, as CUPTI's threads may outlive `main`.
class Profiler {
public:
  static Profiler &ofProcess() {
    static auto *profiler = new Profiler();
    return *profiler;
  }

  Result<uint32_t> open(std::span<const std::string> files);
  Result<void> start(bool keepRuns);
  Result<Profile> take();
  void stop();

private:
  Result<void> subscribe();
  Result<void> flush();
  void waitForContexts();
  void onLaunch(int domain, uint32_t id, const cupti::ApiCall &call);
  void onResource(uint32_t id, const cupti::ResourceCall &call);

  std::mutex control; ///< held by the four functions above, not by CUPTI's callbacks
  std::unique_ptr<Cupti> cupti;
  CuptiSubscriber subscriber = nullptr;
  Launches launches;
  Records records{launches};
  std::mutex contextMutex;
  std::set<CUcontext> contexts; ///< with launches
};

Result<uint32_t> Profiler::open(std::span<const std::string> files) {
  const std::lock_guard lock(control);
  if (!cupti) {
    Result<std::unique_ptr<Cupti>> opened = Cupti::open(files);
    if (!opened)
      return opened.error();
    cupti = std::move(*opened);
  }
  return cupti->version;
}

Result<void> Profiler::start(bool keepRuns) {
  const std::lock_guard lock(control);
  if (!cupti)
    return makeError(ErrorKind::Driver, "no CUPTI was opened");
  records.keepRuns(keepRuns);
  return subscriber ? Result<void>() : subscribe();
}

Result<void> Profiler::subscribe() {
  const CuptiBufferRequested requested = [](uint8_t **buffer, size_t *bytes, size_t *maxRecords) {
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(bufferAlignment, bufferBytes));
    *bytes = *buffer ? bufferBytes : 0;
    *maxRecords = 0;
  };
  const CuptiBufferCompleted completed = [](CUcontext context, uint32_t stream, uint8_t *buffer,
                                            size_t, size_t valid) {
    Profiler &self = ofProcess();
    if (buffer && valid)
      self.records.read(*self.cupti, buffer, valid);
    std::free(buffer);
    size_t dropped = 0;
    if (self.cupti->activityGetNumDroppedRecords(context, stream, &dropped) == cupti::success)
      self.records.addLost(dropped);
  };
  const CuptiCallback called = [](void *, int domain, uint32_t id, const void *event) {
    if (domain == cupti::Resource)
      ofProcess().onResource(id, *static_cast<const cupti::ResourceCall *>(event));
    else
      ofProcess().onLaunch(domain, id, *static_cast<const cupti::ApiCall *>(event));
  };
  launches.begin();
  CUptiResult result = cupti->subscribe(&subscriber, called, nullptr);
  if (result != cupti::success) {
    subscriber = nullptr;
    return cupti->error(result, result == cupti::multipleSubscribers
                                    ? "subscribing to CUPTI, which another tool has done"
                                    : "subscribing to CUPTI");
  }
  result = cupti->activityRegisterCallbacks(requested, completed);
  for (const CallbackId &row : launchCallbacks) {
    const CUptiResult enabled = cupti->enableCallback(1, subscriber, row.domain, row.id);
    if (row.domain == cupti::DriverApi && row.id == launchKernelId && result == cupti::success)
      result = enabled; // the others are not in every version
  }
  for (const uint32_t id : resourceCallbacks)
    cupti->enableCallback(1, subscriber, cupti::Resource, id);
  if (result == cupti::success)
    result = cupti->activityEnable(cupti::concurrentKernelKind);
  if (result == cupti::success)
    return {};
  const Error error = cupti->error(result, "having CUPTI record kernels");
  cupti->unsubscribe(subscriber);
  subscriber = nullptr;
  return error;
}

void Profiler::onLaunch(int domain, uint32_t id, const cupti::ApiCall &call) {
  if (call.site != 0)
    return launches.leave();
  {
    const std::lock_guard lock(contextMutex);
    if (call.context)
      contexts.insert(call.context);
  }
  launches.enter(call.correlation, launchesMany(domain, id));
}

void Profiler::onResource(uint32_t id, const cupti::ResourceCall &call) {
  if (id == cupti::ContextDestroyed) {
    const std::lock_guard lock(contextMutex);
    contexts.erase(call.context);
    return;
  }
  const auto *graph = static_cast<const cupti::GraphCall *>(call.descriptor);
  uint64_t node = 0, original = 0;
  if (!graph || graph->nodeType != 0 || cupti->getGraphNodeId(graph->node, &node))
    return;
  if (id == cupti::GraphNodeCreated)
    launches.addNode(node);
  else if (!cupti->getGraphNodeId(graph->originalNode, &original))
    launches.copyNode(original, node);
}

void Profiler::waitForContexts() {
  std::set<CUcontext> waited;
  {
    const std::lock_guard lock(contextMutex);
    waited = contexts;
  }
  if (waited.empty() || !Driver::shared())
    return;
  const std::unique_ptr<Driver> &driver = *Driver::shared();
  for (CUcontext context : waited) {
    if (driver->ctxPushCurrent(context))
      continue; // destroyed: CUPTI has read its records
    driver->ctxSynchronize();
    driver->ctxPopCurrent(&context);
  }
}

Result<void> Profiler::flush() {
  const uint32_t ended = launches.endedUpTo();
  waitForContexts();
  for (const uint32_t flag : {uint32_t(0), cupti::flushForced})
    if (CUptiResult result = cupti->activityFlushAll(flag))
      return cupti->error(result, "reading CUPTI's records");
  launches.forget(ended);
  return {};
}

Result<Profile> Profiler::take() {
  const std::lock_guard lock(control);
  if (subscriber)
    if (Result<void> flushed = flush(); !flushed)
      return flushed.error();
  return records.take();
}

void Profiler::stop() {
  const std::lock_guard lock(control);
  if (!subscriber)
    return;
  cupti->activityDisable(cupti::concurrentKernelKind);
  cupti->unsubscribe(subscriber);
  subscriber = nullptr;
  records.take();
}

} // namespace

Result<uint32_t> openProfiler(std::span<const std::string> files) {
  return Profiler::ofProcess().open(files);
}
Result<void> startProfiler(bool keepRuns) { return Profiler::ofProcess().start(keepRuns); }
Result<Profile> takeProfile() { return Profiler::ofProcess().take(); }
void stopProfiler() { Profiler::ofProcess().stop(); }
void setPlace(std::optional<uint32_t> place) { Launches::setPlace(place); }
void setSharedPlace(uint32_t place) { Launches::setSharedPlace(place); }
void refinePlaces(uint32_t (*refine)(uint32_t place)) { Launches::refineBy(refine); }

} // namespace pantile
