//===- Tuner.cpp - the fastest of several ways to compile a kernel ------------------------===//
// Needs: see pantile/Tuner.h; RunTimer, PlanRanking, TuneTimes.
// Gives: tune.
// How:   candidates compile on as many threads as there are cores. Those whose times are not in the
//        kernel cache run a race; it stores their times when it is over.
//===------------------------------------------------------------------------------------===//
#include "pantile/Tuner.h"
#include "cuda/Device.h"
#include "runtime/PlanRanking.h"
#include "runtime/RunTimer.h"
#include "runtime/TuneTimes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace pantile {
namespace {

/// A candidate that is compiled.
struct Trial {
  size_t number; ///< among the candidates
  std::optional<Result<Kernel>> kernel;
  Grid grid = {1, 1, 1};
};

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

/// The kind of GPU that launches run on: name, target and size, as of Python's tuner. Empty for the
/// CPU.
std::string deviceKind(const std::string &target, const LaunchOptions &launch, int &sms) {
  if (target == "cpu")
    return {};
  const auto &driver = Driver::shared();
  if (!driver)
    return {};
  auto scope = ContextScope::enter(**driver, launch.device);
  Result<DeviceInfo> info = scope ? deviceInfo(scope->device()) : Result<DeviceInfo>(scope.error());
  if (!info)
    return {};
  sms = info->multiprocessors;
  return fmt::format("{} {} {} SMs", info->name, info->target, info->multiprocessors);
}

/// One call of `tune`.
class Tuning {
public:
  Tuning(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
         const TuneOptions &options)
      : source(source), candidates(candidates), options(options), onCpu(target() == "cpu"),
        times(options, deviceKind(target(), options.launch, sms)) {
    result.measurements.resize(candidates.size());
  }

  Result<TuneResult> run() {
    std::vector<Trial> trials = compile(candidatesToCompile());
    auto timer = onCpu ? Result<std::unique_ptr<RunTimer>>(RunTimer::onCpu())
                       : RunTimer::onGpu(options.launch);
    if (!timer)
      return timer.error();
    const std::unique_ptr<CacheLock> alone = lockUnlessKnown(trials);
    measure(**timer, withoutTimes(trials));
    for (const Trial &trial : trials)
      takeIfBest(trial);
    return result.kernel ? Result<TuneResult>(std::move(result)) : Result<TuneResult>(*failure);
  }

private:
  const std::string &target() const { return source.request.options.target; }

  std::vector<size_t> candidatesToCompile() {
    std::vector<size_t> all(candidates.size());
    std::iota(all.begin(), all.end(), 0);
    if (options.keep == 0 || all.size() <= options.keep)
      return all;
    for (TuneMeasurement &measurement : result.measurements)
      measurement.error = fmt::format("is not among the {} that are kept", options.keep);
    if (onCpu) {
      result.unranked = "the kernel runs on the CPU";
      all.resize(options.keep);
      return all;
    }
    const std::string key = times.spaceKey(source, candidates);
    std::vector<size_t> kept = times.loadKept(key, candidates.size());
    if (!kept.empty())
      return kept;
    kept = rank();
    if (result.unranked.empty() && !kept.empty())
      times.storeKept(key, kept);
    return kept;
  }

  std::vector<size_t> rank() {
    PlanRanking ranking = rankByPlans(source, candidates, options, sms);
    for (size_t i = 0; i < candidates.size(); ++i) {
      result.measurements[i].prediction = ranking.planned[i];
      if (ranking.refused[i])
        noteFailure(i, *ranking.refused[i]);
    }
    result.unranked = ranking.unknown;
    ranking.order.resize(std::min(ranking.order.size(), options.keep));
    return ranking.order;
  }

  std::vector<Trial> compile(const std::vector<size_t> &numbers) {
    std::vector<Trial> trials;
    for (size_t number : numbers) {
      result.measurements[number].error.clear();
      const CompileRequest request = requestFor(source.request, candidates[number]);
      trials.push_back({number, {}, options.grid(request.definitions)});
    }
    onAllCores(trials.size(), [&](size_t i) {
      const CompileRequest request = requestFor(source.request, candidates[trials[i].number]);
      trials[i].kernel.emplace(compileText(source.text, source.fileName, request));
    });
    for (const Trial &trial : trials)
      if (!*trial.kernel)
        noteFailure(trial.number, trial.kernel->error());
    return trials;
  }

  /// Fills in what is known, and waits for a process that measures the rest.
  std::unique_ptr<CacheLock> lockUnlessKnown(const std::vector<Trial> &trials) {
    const bool isKnown = std::all_of(trials.begin(), trials.end(), [&](const Trial &trial) {
      return !*trial.kernel || times.load(**trial.kernel, trial.grid);
    });
    if (isKnown || !times.areKept())
      return nullptr;
    // What this process has queued may wait for another one: not while others wait for this one.
    auto scope = ContextScope::enter(**Driver::shared(), options.launch.device);
    if (!scope || !synchronizeStream(options.launch.stream))
      return nullptr; // measuring meets the same error
    return times.lock(source, result.warnings);
  }

  /// Takes over the times that are known, and returns those that have none.
  std::vector<const Trial *> withoutTimes(const std::vector<Trial> &trials) {
    std::vector<const Trial *> unknown;
    for (const Trial &trial : trials) {
      if (!*trial.kernel)
        continue;
      std::optional<TuneMeasurement> known = times.load(**trial.kernel, trial.grid);
      if (!known) {
        unknown.push_back(&trial);
        continue;
      }
      known->prediction = result.measurements[trial.number].prediction;
      if (!known->error.empty())
        noteFailure(trial.number, makeError(ErrorKind::Resources, known->error));
      result.measurements[trial.number] = std::move(*known);
    }
    return unknown;
  }

  void measure(RunTimer &timer, const std::vector<const Trial *> &trials) {
    auto run = [&](size_t i, int count) { return runsOf(timer, *trials[i], count); };
    const std::vector<std::vector<double>> found = race(trials.size(), run, options.milliseconds);
    for (const auto &[trial, milliseconds] : llvm::zip_equal(trials, found)) {
      if (milliseconds.empty())
        continue;
      TuneMeasurement &measurement = result.measurements[trial->number];
      measurement.milliseconds = median(milliseconds);
      times.store(**trial->kernel, trial->grid, measurement);
    }
  }

  std::optional<std::vector<double>> runsOf(RunTimer &timer, const Trial &trial, int count) {
    auto run = [&] { return launch(**trial.kernel, trial.grid, options.args, options.launch); };
    std::vector<double> found;
    for (int i = 0; i < count; ++i) {
      Result<void> ready = options.prepare ? options.prepare() : Result<void>();
      Result<double> time = ready ? timer.milliseconds(run) : Result<double>(ready.error());
      if (!time) {
        noteFailure(trial.number, time.error());
        if (time.error().kind == ErrorKind::Resources)
          times.store(**trial.kernel, trial.grid, result.measurements[trial.number]);
        return std::nullopt;
      }
      found.push_back(*time);
    }
    return found;
  }

  void takeIfBest(const Trial &trial) {
    const TuneMeasurement &measurement = result.measurements[trial.number];
    if (!measurement.error.empty() || !(measurement.milliseconds < best))
      return;
    best = measurement.milliseconds;
    result.kernel = **trial.kernel, result.best = trial.number, result.grid = trial.grid;
  }

  void noteFailure(size_t number, const Error &error) {
    result.measurements[number].error = error.message;
    if (!failure)
      failure = error;
  }

  const TuneSource &source;
  const std::vector<TuneCandidate> &candidates;
  const TuneOptions &options;
  const bool onCpu;
  int sms = 0;
  const TuneTimes times;
  TuneResult result;
  std::optional<Error> failure;
  double best = std::numeric_limits<double>::infinity();
};

} // namespace

Result<TuneResult> tune(std::string_view text, const std::string &fileName,
                        const CompileRequest &request, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options) {
  if (candidates.empty() || !options.grid)
    return makeError(ErrorKind::Launch, "tuning needs candidates and a function for the grid");
  return Tuning({text, fileName, request}, candidates, options).run();
}

} // namespace pantile
