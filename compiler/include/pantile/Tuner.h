//===- Tuner.h - the fastest of several ways to compile a kernel --------------------------===//
// `tune` compiles all candidates on all cores, measures them by a `race` on the given arguments, and
// returns the fastest. The kernel cache keeps the time of each candidate separately,
// so a second call with the same arguments, or with another list, measures only new candidates. Of
// several processes that tune one kernel for one kind of GPU at once, one measures and the others
// wait for its times. Times of the CPU are not kept.
// TuneOptions::keep limits the candidates of a large space to those that are predicted to be fast.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Prediction.h"
#include "pantile/Request.h"
#include "pantile/Runtime.h"
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pantile {

/// What a candidate changes in the request.
struct TuneCandidate {
  Definitions definitions;                           ///< added to those of the request, overriding
  int numWarps = 4, numStages = 3, maxRegisters = 0; ///< as in Options
  std::set<std::string> disabledPasses, enabledPasses; ///< added to those of the request
};

/// The axes of a space of candidates.
struct TuneAxes {
  /// Values of compile-time parameters and of globals, by name.
  std::vector<std::pair<std::string, std::vector<ConstValue>>> definitions;
  std::vector<int> numWarps = {4}, numStages = {3}, maxRegisters = {0}; ///< as in Options
};
/// All combinations of the values of `axes`; the last axis varies fastest, definitions slowest. None
/// if an axis has no values.
PANTILE_API std::vector<TuneCandidate> candidatesOf(const TuneAxes &axes);

/// How candidates are measured.
struct TuneOptions {
  /// Returns the grid of a candidate, from all its definitions.
  std::function<Grid(const Definitions &)> grid;
  std::vector<LaunchArg> args; ///< of the launches
  /// Restores what the kernel changes; called before every run, outside the measured time.
  std::function<Result<void>()> prepare;
  LaunchOptions launch;     ///< stream and device
  double milliseconds = 50; ///< time to spend on each candidate that is not dropped early
  bool useStore = true;     ///< read times from the kernel cache and add to it
  /// Of more candidates than these compile those that are predicted to be the fastest
  /// (Prediction.h), for the grid and the integers of the launches; 0: compile all. On the CPU, and
  /// where nothing can be predicted, the first ones.
  size_t keep = 0;
};

/// Runs contestant `number` `runs` times and returns the milliseconds of each run; none if it cannot
/// run.
using MeasureRuns = std::function<std::optional<std::vector<double>>(size_t number, int runs)>;
/// Finds the fastest of `contestants` by successive halving: each round runs fewer of them, by
/// `measure`, for longer, those that reach the last round for about `milliseconds` in all. Returns
/// the milliseconds of the runs of each one's last round, empty for one that cannot run; the winner
/// has the smallest median.
PANTILE_API std::vector<std::vector<double>> race(size_t contestants, const MeasureRuns &measure,
                                                  double milliseconds = 50);

/// A prediction of a candidate.
struct PredictedCandidate {
  LaunchPrediction prediction; ///< of its launch
  std::string plan;            ///< that it was made from; empty: made from the tiles alone
};
/// Predicts the candidates of these numbers, in this order; none for one that cannot run.
using PredictCandidates =
    std::function<std::vector<std::optional<PredictedCandidate>>(const std::vector<size_t> &)>;
/// Candidates by their predictions; all by number.
struct CandidateRanking {
  std::vector<size_t> order; ///< those that can run as far as is known, from the best on
  std::vector<std::optional<LaunchPrediction>> planned; ///< of those whose plan was predicted
  std::string unknown; ///< why nothing was predicted: the order is the given one
};
/// Ranks as many candidates as there are `tiles`, a text for each that is the same where two differ
/// in warps and stages only. `byTiles` predicts all of them, where they are many; `byPlans` then
/// those that look best: `keep` of them, and 64 at least.
PANTILE_API CandidateRanking rankCandidates(const std::vector<std::string> &tiles,
                                            const PredictCandidates &byTiles,
                                            const PredictCandidates &byPlans, size_t keep);

/// The time of a candidate, or why it has none.
struct TuneMeasurement {
  double milliseconds = std::numeric_limits<double>::infinity(); ///< median of a run
  bool fromStore = false;                                        ///< its time was in the cache
  std::string error; ///< why it was left out (does not compile, does not fit, is not kept)
  std::optional<LaunchPrediction> prediction; ///< if this call has made one from its plan
};

/// The fastest candidate.
struct TuneResult {
  Kernel kernel;                             ///< compiled, ready to launch
  size_t best = 0;                           ///< index among the candidates
  Grid grid = {1, 1, 1};                     ///< its grid
  std::vector<TuneMeasurement> measurements; ///< one per candidate
  std::string unranked; ///< why the first candidates were kept; empty if predictions chose
  std::string
      warnings; ///< lines for the user, such as that waiting for another process was given up
};

/// Compiles the kernel of `text`, which messages call `fileName`, as `request` and each of
/// `candidates` say, measures them as `options` say and returns the fastest. An Error where no
/// candidate runs: that of the first. Must not run while the stream is captured.
PANTILE_API Result<TuneResult> tune(std::string_view text, const std::string &fileName,
                                    const CompileRequest &request,
                                    const std::vector<TuneCandidate> &candidates,
                                    const TuneOptions &options);

} // namespace pantile
