//===- Tuner.h - the fastest of several ways to compile a kernel --------------------------===//
// `tune` compiles all candidates on all cores, measures them one after another on the given
// arguments, and returns the fastest. The kernel cache keeps the time of each candidate separately,
// so a second call with the same arguments, or with another list, measures only new candidates.
// Times of the CPU are not kept.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Request.h"
#include "pantile/Runtime.h"
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace pantile {

/// What a candidate changes in the request.
struct TuneCandidate {
  Definitions definitions;                           ///< added to those of the request, overriding
  int numWarps = 4, numStages = 3, maxRegisters = 0; ///< as in Options
  std::set<std::string> disabledPasses, enabledPasses; ///< added to those of the request
};

/// How candidates are measured.
struct TuneOptions {
  /// Returns the grid of a candidate, from all its definitions.
  std::function<Grid(const Definitions &)> grid;
  std::vector<LaunchArg> args; ///< of the launches
  /// Restores what the kernel changes; called before every run, outside the measured time.
  std::function<Result<void>()> prepare;
  LaunchOptions launch;     ///< stream and device
  double milliseconds = 50; ///< time to spend on measuring each candidate
  bool useStore = true;     ///< read times from the kernel cache and add to it
};

/// The time of a candidate, or why it has none.
struct TuneMeasurement {
  double milliseconds = std::numeric_limits<double>::infinity(); ///< median of a run
  bool fromStore = false;                                        ///< its time was in the cache
  std::string error; ///< why it was left out (does not compile, does not fit)
};

/// The fastest candidate.
struct TuneResult {
  Kernel kernel;                             ///< compiled, ready to launch
  size_t best = 0;                           ///< index among the candidates
  Grid grid = {1, 1, 1};                     ///< its grid
  std::vector<TuneMeasurement> measurements; ///< one per candidate
};

/// Compiles the kernel of `text`, which messages call `fileName`, as `request` and each of
/// `candidates` say, measures them as `options` say and returns the fastest. An Error where no
/// candidate runs: that of the first. Must not run while the stream is captured.
PANTILE_API Result<TuneResult> tune(std::string_view text, const std::string &fileName,
                                    const CompileRequest &request,
                                    const std::vector<TuneCandidate> &candidates,
                                    const TuneOptions &options);

} // namespace pantile
