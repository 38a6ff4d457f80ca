//===- Tuner.cpp - the fastest of several ways to compile a kernel ------------------------===//
// Needs: see pantile/Tuner.h; RunTimer.
// Gives: tune.
// How:   candidates compile on as many threads as there are cores. One that takes twice the best
//        time in its first runs is measured no further. A stored time belongs to the kernel's
//        content key, the device, the grid and the numbers among the arguments.
//===------------------------------------------------------------------------------------===//
#include "pantile/Tuner.h"
#include "cache/Bytes.h"
#include "cache/CacheKey.h"
#include "pantile/Cache.h"
#include "runtime/RunTimer.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <optional>
#include <thread>

namespace pantile {
namespace {

constexpr int firstRuns = 3, fewestRuns = 5, mostRuns = 200;
constexpr double hopeless = 2; // times the best

struct Trial {
  std::optional<Result<Kernel>> kernel;
  Definitions definitions;
  Grid grid = {1, 1, 1};
};

CompileRequest requestFor(const CompileRequest &request, const TuneCandidate &candidate) {
  CompileRequest result = request;
  for (const auto &[name, value] : candidate.definitions)
    result.definitions[name] = value;
  result.options.numWarps = candidate.numWarps;
  result.options.numStages = candidate.numStages;
  result.options.maxRegisters = candidate.maxRegisters;
  result.options.disabledPasses.insert(candidate.disabledPasses.begin(),
                                       candidate.disabledPasses.end());
  result.options.enabledPasses.insert(candidate.enabledPasses.begin(),
                                      candidate.enabledPasses.end());
  return result;
}

/// Compiles all candidates on all cores.
std::vector<Trial> compileAll(std::string_view text, const std::string &fileName,
                              const CompileRequest &request,
                              const std::vector<TuneCandidate> &candidates) {
  std::vector<Trial> trials(candidates.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < candidates.size(); i = next++) {
      CompileRequest wanted = requestFor(request, candidates[i]);
      trials[i].definitions = wanted.definitions;
      trials[i].kernel.emplace(compileText(text, fileName, wanted));
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(cores, candidates.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return trials;
}

/// The key of a stored time; empty where none is kept.
std::string timeKey(const Kernel &kernel, const Grid &grid, const std::string &device,
                    const TuneOptions &options) {
  if (!options.useStore || kernel->hash.empty() || device.empty())
    return {};
  ByteWriter out;
  out.text("pantile time 1");
  out.text(kernel->hash);
  out.text(device);
  for (int64_t size : grid)
    out.u64(static_cast<uint64_t>(size));
  for (const LaunchArg &arg : options.args) {
    out.u8(static_cast<uint8_t>(arg.kind));
    out.u64(arg.kind == LaunchArg::Kind::Int ? static_cast<uint64_t>(arg.integer) : 0);
    out.f64(arg.kind == LaunchArg::Kind::Float ? arg.real : 0);
  }
  return hexDigest(out.bytes());
}

std::optional<double> storedTime(const std::string &key) {
  std::optional<std::string> text = key.empty() ? std::nullopt : loadCacheEntry(key);
  if (!text)
    return std::nullopt;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(*text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  std::optional<double> time = object ? object->getNumber("milliseconds") : std::nullopt;
  return time && *time > 0 ? time : std::nullopt;
}

void storeTime(const std::string &key, const Kernel &kernel, double milliseconds) {
  if (key.empty())
    return;
  llvm::json::Object entry{{"kernel", kernel->name},
                           {"target", kernel->options.target},
                           {"num_warps", kernel->options.numWarps},
                           {"num_stages", kernel->options.numStages},
                           {"milliseconds", milliseconds}};
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(entry)));
  storeCacheEntry(key, text, EntryKind::Tuning);
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

/// The median time of runs; after the first ones a hopeless kernel is given up.
Result<double> measure(RunTimer &timer, const Kernel &kernel, const Grid &grid,
                       const TuneOptions &options, double best) {
  auto run = [&] { return launch(kernel, grid, options.args, options.launch); };
  std::vector<double> times;
  auto once = [&]() -> Result<void> {
    if (options.prepare)
      if (Result<void> ready = options.prepare(); !ready)
        return ready;
    Result<double> time = timer.milliseconds(run);
    if (!time)
      return time.error();
    times.push_back(*time);
    return {};
  };
  for (int i = 0; i <= firstRuns; ++i)
    if (Result<void> done = once(); !done)
      return done.error();
  times.erase(times.begin()); // the first run also loads
  const double estimate = std::max(*std::min_element(times.begin(), times.end()), 1e-4);
  if (estimate > hopeless * best)
    return median(times);
  const int runs = std::clamp(int(options.milliseconds / estimate), fewestRuns, mostRuns);
  for (int i = firstRuns; i < runs; ++i)
    if (Result<void> done = once(); !done)
      return done.error();
  return median(times);
}

/// What stored times belong to; empty for the CPU.
std::string deviceName(const std::string &target, const LaunchOptions &launch) {
  if (target == "cpu")
    return {};
  Result<DeviceInfo> info = deviceInfo(std::max(launch.device, 0));
  return info ? info->name : "";
}

Result<TuneMeasurement> timeOf(RunTimer &timer, const Kernel &kernel, const Grid &grid,
                               const std::string &device, const TuneOptions &options, double best) {
  TuneMeasurement measurement;
  const std::string key = timeKey(kernel, grid, device, options);
  if (std::optional<double> stored = storedTime(key)) {
    measurement.milliseconds = *stored;
    measurement.fromStore = true;
    return measurement;
  }
  Result<double> time = measure(timer, kernel, grid, options, best);
  if (!time)
    return time.error();
  measurement.milliseconds = *time;
  storeTime(key, kernel, *time);
  return measurement;
}

} // namespace

Result<TuneResult> tune(std::string_view text, const std::string &fileName,
                        const CompileRequest &request, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options) {
  if (candidates.empty() || !options.grid)
    return makeError(ErrorKind::Launch, "tuning needs candidates and a function for the grid");
  std::vector<Trial> trials = compileAll(text, fileName, request, candidates);
  const std::string &target = request.options.target;
  auto timer = target == "cpu" ? Result<std::unique_ptr<RunTimer>>(RunTimer::onCpu())
                               : RunTimer::onGpu(options.launch);
  if (!timer)
    return timer.error();
  const std::string device = deviceName(target, options.launch);
  TuneResult result;
  std::optional<Error> failure;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < trials.size(); ++i) {
    const Result<Kernel> &kernel = *trials[i].kernel;
    const Grid grid = options.grid(trials[i].definitions);
    Result<TuneMeasurement> measured = kernel
                                           ? timeOf(**timer, *kernel, grid, device, options, best)
                                           : Result<TuneMeasurement>(kernel.error());
    if (!measured && !failure)
      failure = measured.error();
    result.measurements.push_back(measured ? *measured : TuneMeasurement{});
    if (!measured)
      result.measurements.back().error = measured.error().message;
    if (result.measurements.back().milliseconds < best) {
      best = result.measurements.back().milliseconds;
      result.best = i, result.kernel = *kernel, result.grid = grid;
    }
  }
  return result.kernel ? Result<TuneResult>(std::move(result)) : Result<TuneResult>(*failure);
}

} // namespace pantile
