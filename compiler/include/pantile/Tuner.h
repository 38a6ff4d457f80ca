//===- Tuner.h - the fastest of several ways to compile a kernel --------------------------===//
// `tune` compiles every candidate on all cores, measures them one after another on the given
// arguments, and returns the fastest. Times are kept in the process's cache for each candidate by
// itself, so a second call with the same arguments, or with another list, measures only what is
// new. Times of the CPU are not kept.
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
  Definitions definitions;                             ///< beside and over those of the request
  int numWarps = 4, numStages = 3, maxRegisters = 0;   ///< as of Options
  std::set<std::string> disabledPasses, enabledPasses; ///< beside those of the request
};

/// How candidates are measured.
struct TuneOptions {
  /// The grid for a candidate; gets all its definitions.
  std::function<Grid(const Definitions &)> grid;
  std::vector<LaunchArg> args; ///< of the launches
  /// Called before every run, outside of the measured time: restores what the kernel changes.
  std::function<Result<void>()> prepare;
  LaunchOptions launch;     ///< stream and device
  double milliseconds = 50; ///< of measuring, for each candidate
  bool useStore = true;     ///< take and keep times on the disk
};

/// What became of a candidate.
struct TuneMeasurement {
  double milliseconds = std::numeric_limits<double>::infinity(); ///< median of a run
  bool fromStore = false;                                        ///< its time was on the disk
  std::string error; ///< why it was left out (does not compile, does not fit)
};

/// The fastest candidate.
struct TuneResult {
  Kernel kernel;                             ///< compiled, ready to launch
  size_t best = 0;                           ///< index among the candidates
  Grid grid = {1, 1, 1};                     ///< its grid
  std::vector<TuneMeasurement> measurements; ///< one a candidate
};

/// Compiles the kernel of `text`, which messages call `fileName`, as `request` and each of
/// `candidates` say, measures them as `options` say and returns the fastest. An Error where no candidate
/// runs: that of the first. Must not run while the stream is captured.
PANTILE_API Result<TuneResult> tune(std::string_view text, const std::string &fileName,
                                    const CompileRequest &request,
                                    const std::vector<TuneCandidate> &candidates,
                                    const TuneOptions &options);

} // namespace pantile
