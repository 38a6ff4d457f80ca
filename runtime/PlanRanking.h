//===- PlanRanking.h - candidates of the tuner by what the compiler plans for them ----------===//
// Needs: candidates for one launch on a GPU; nothing of the GPU but its number of SMs.
// Gives: the candidates that are expected to be fastest, before any code is made.
// How:   rankCandidates (pantile/Tuner.h) asks for predictions by tiles, which take the front end
//        alone, and by what the passes plan (pantile/Prediction.h).
//===------------------------------------------------------------------------------------===//
#pragma once
#include "runtime/TuneCandidates.h"
#include <optional>
#include <vector>

namespace pantile {

/// A ranking, and why candidates cannot run, by number.
struct PlanRanking : CandidateRanking {
  std::vector<std::optional<Error>> refused;
};

/// Ranks `candidates` for launches with the grid and the arguments of `options` on a GPU of so many
/// SMs.
PlanRanking rankByPlans(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options, int sms);

} // namespace pantile
