//===- CandidateRanking.cpp - the order of candidates by their predictions ------------------===//
// Needs: functions that predict candidates, by their tiles alone and by what the passes plan.
// Gives: rankCandidates (pantile/Tuner.h).
// How:   the tiles of all candidates are predicted, then the plans of those that look best. How
//        warps and stages compare is known less well than how tiles do, so candidates with one tile
//        come in threes at most; then several tiles are among the first ones.
//===------------------------------------------------------------------------------------===//
#include "pantile/Tuner.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace pantile {
namespace {

constexpr size_t leastPlanned = 64;
constexpr int mostOfATile = 3; // candidates with one tile, before others come

/// What can be predicted and is not spilled comes first.
std::tuple<bool, bool, double> sortKeyOf(const LaunchPrediction &prediction) {
  return {prediction.spills, !prediction.unknown.empty(), prediction.cycles};
}

/// One call of `rankCandidates`.
class Ranker {
public:
  explicit Ranker(const std::vector<std::string> &tiles) : tiles(tiles), predicted(tiles.size()) {}

  CandidateRanking run(const PredictCandidates &byTiles, const PredictCandidates &byPlans,
                       size_t keep) {
    const size_t count = std::max(leastPlanned, keep);
    std::vector<size_t> waiting(tiles.size());
    std::iota(waiting.begin(), waiting.end(), 0);
    std::string unknown;
    if (waiting.size() > count) {
      waiting = predict(waiting, byTiles);
      sortByPrediction(waiting);
      unknown = unknownOf(waiting);
    }
    std::vector<size_t> planned = plan(waiting, byPlans, count);
    sortByPlans(planned);
    CandidateRanking ranking;
    ranking.unknown = unknown.empty() ? unknownOf(planned) : unknown;
    ranking.planned.resize(tiles.size());
    for (size_t i : planned)
      ranking.planned[i] = predicted[i]->prediction;
    ranking.order = std::move(planned);
    ranking.order.insert(ranking.order.end(), waiting.begin(), waiting.end());
    return ranking;
  }

private:
  /// Returns those of `numbers` that can run.
  std::vector<size_t> predict(const std::vector<size_t> &numbers, const PredictCandidates &by) {
    std::vector<std::optional<PredictedCandidate>> found = by(numbers);
    found.resize(numbers.size());
    std::vector<size_t> able;
    for (auto &&[number, prediction] : llvm::zip_equal(numbers, found))
      if (prediction)
        able.push_back(number), predicted[number] = std::move(prediction);
    return able;
  }

  /// Takes up to `count` that can run from `waiting`: what cannot makes room for the next.
  std::vector<size_t> plan(std::vector<size_t> &waiting, const PredictCandidates &byPlans,
                           size_t count) {
    std::vector<size_t> planned;
    while (!waiting.empty() && planned.size() < count) {
      const auto end = waiting.begin() + std::min(waiting.size(), count - planned.size());
      const std::vector<size_t> batch(waiting.begin(), end);
      waiting.erase(waiting.begin(), end);
      llvm::append_range(planned, predict(batch, byPlans));
    }
    return planned;
  }

  /// Why nothing is predicted of `numbers`; empty if anything is.
  std::string unknownOf(const std::vector<size_t> &numbers) const {
    for (size_t i : numbers)
      if (predicted[i]->prediction.unknown.empty())
        return "";
    return numbers.empty() ? "" : predicted[numbers[0]]->prediction.unknown;
  }

  void sortByPrediction(std::vector<size_t> &numbers) const {
    llvm::stable_sort(numbers, [&](size_t a, size_t b) {
      return sortKeyOf(predicted[a]->prediction) < sortKeyOf(predicted[b]->prediction);
    });
  }

  /// Sorts what was planned. Of those with one tile and one plan, such as where more stages are
  /// requested than fit, the first counts.
  void sortByPlans(std::vector<size_t> &numbers) const {
    sortByPrediction(numbers);
    std::set<std::pair<std::string, std::string>> plans;
    std::map<std::string, int> ofTile;
    std::set<size_t> later;
    for (size_t i : numbers) {
      if (!predicted[i]->prediction.unknown.empty())
        continue;
      if (!plans.emplace(tiles[i], predicted[i]->plan).second || ofTile[tiles[i]] == mostOfATile)
        later.insert(i);
      else
        ++ofTile[tiles[i]];
    }
    auto rank = [&](size_t i) {
      const auto [spills, isUnknown, cycles] = sortKeyOf(predicted[i]->prediction);
      return std::tuple(spills, isUnknown, later.contains(i));
    };
    llvm::stable_sort(numbers, [&](size_t a, size_t b) { return rank(a) < rank(b); });
  }

  const std::vector<std::string> &tiles;
  std::vector<std::optional<PredictedCandidate>> predicted; ///< the last prediction of each
};

} // namespace

CandidateRanking rankCandidates(const std::vector<std::string> &tiles,
                                const PredictCandidates &byTiles, const PredictCandidates &byPlans,
                                size_t keep) {
  return Ranker(tiles).run(byTiles, byPlans, keep);
}

} // namespace pantile
