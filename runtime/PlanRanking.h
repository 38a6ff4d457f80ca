//===- PlanRanking.h - candidates of the tuner by what the compiler plans for them ----------===//
// Needs: candidates for one launch on a GPU; nothing of the GPU but its number of SMs.
// Gives: the candidates that are expected to be fastest, before any code is made.
// How:   first the tiles of all candidates are predicted, which takes the front end alone; then,
//        for those that look best, what the passes plan (pantile/Prediction.h). The order is that
//        of python/pantile/runtime/plan_ranking.py.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "runtime/TuneCandidates.h"
#include <optional>
#include <vector>

namespace pantile {

/// By the numbers of the candidates.
struct PlanRanking {
  std::vector<size_t> order; ///< those that can run as far as is known, from the best on
  std::vector<std::optional<LaunchPrediction>> predictions; ///< of those that were planned
  std::vector<std::optional<Error>> refused;                ///< why one cannot run
  std::string unknown; ///< why nothing was predicted: the order is the given one
};

/// Ranks `candidates` for launches with the grid and the arguments of `options` on a GPU of so many
/// SMs. Plans as many as are kept, and 64 at least.
PlanRanking rankByPlans(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options, int multiprocessors);

} // namespace pantile
