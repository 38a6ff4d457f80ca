//===- RunTimer.cpp - how long a launch takes ---------------------------------------------===//
// Needs: see RunTimer.h.
// Gives: RunTimer.
// How:   the write that flushes the L2 cache also hides the launch overhead of the host. On a GPU
//        without enough free memory for it, runs are measured with a warm cache.
//===------------------------------------------------------------------------------------===//
#include "runtime/RunTimer.h"
#include "cuda/Device.h"
#include <chrono>

namespace pantile {
namespace {

constexpr size_t flushBytes = size_t(256) << 20;

class ClockTimer : public RunTimer {
public:
  Result<double> milliseconds(const std::function<Result<void>()> &run) override {
    auto start = std::chrono::steady_clock::now();
    if (Result<void> done = run(); !done)
      return done.error();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }
};

class EventTimer : public RunTimer {
public:
  EventTimer(const Driver &driver, const LaunchOptions &launch)
      : driver(driver), device(launch.device), stream(reinterpret_cast<CUstream>(launch.stream)) {}

  ~EventTimer() override {
    for (CUevent event : {start, end})
      if (event)
        driver.eventDestroy(event);
    deviceFree(flush);
  }

  Result<void> prepare() {
    auto scope = ContextScope::enter(driver, device);
    if (!scope)
      return scope.error();
    for (CUevent *event : {&start, &end})
      if (Result<void> made = driver.check(driver.eventCreate(event, 0), "making an event"); !made)
        return made;
    if (Result<uint64_t> memory = deviceAlloc(flushBytes, scope->device()))
      flush = *memory;
    return {};
  }

  Result<double> milliseconds(const std::function<Result<void>()> &run) override {
    auto scope = ContextScope::enter(driver, device);
    if (!scope)
      return scope.error();
    CUresult result = flush ? driver.memsetAsync(flush, 0, flushBytes, stream) : 0;
    if (!result)
      result = driver.eventRecord(start, stream);
    if (!result)
      if (Result<void> done = run(); !done)
        return done.error();
    float elapsed = 0;
    if (!result)
      result = driver.eventRecord(end, stream);
    if (!result)
      result = driver.eventSynchronize(end);
    if (!result)
      result = driver.eventElapsedTime(&elapsed, start, end);
    if (result)
      return driver.error(result, "measuring a kernel");
    return double(elapsed);
  }

private:
  const Driver &driver;
  const int device;
  const CUstream stream;
  CUevent start = nullptr, end = nullptr;
  uint64_t flush = 0;
};

bool hasEvents(const Driver &driver) {
  return driver.eventCreate && driver.eventDestroy && driver.eventRecord &&
         driver.eventSynchronize && driver.eventElapsedTime && driver.memsetAsync;
}

} // namespace

std::unique_ptr<RunTimer> RunTimer::onCpu() { return std::make_unique<ClockTimer>(); }

Result<std::unique_ptr<RunTimer>> RunTimer::onGpu(const LaunchOptions &launch) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  if (!hasEvents(**driver))
    return makeError(ErrorKind::Driver, "the CUDA driver has no events: it is too old");
  auto timer = std::make_unique<EventTimer>(**driver, launch);
  if (Result<void> ready = timer->prepare(); !ready)
    return ready.error();
  return std::unique_ptr<RunTimer>(std::move(timer));
}

} // namespace pantile
