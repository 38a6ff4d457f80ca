//===- PlanRanking.cpp - candidates of the tuner by what the compiler plans for them --------===//
// Needs: see PlanRanking.h.
// Gives: rankByPlans.
//===------------------------------------------------------------------------------------===//
#include "runtime/PlanRanking.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace pantile {
namespace {

constexpr size_t leastPlanned = 64;
constexpr int mostOfATile = 3; // candidates with the same definitions, before others come

/// A prediction, and the plan that it was made from; empty if it was made from tiles.
struct Predicted {
  LaunchPrediction prediction;
  std::string plan;
};
using Predictions = std::vector<std::optional<Predicted>>; // by candidate

using SortKey = std::tuple<bool, bool, double>;
/// What can be predicted and is not spilled comes first.
SortKey sortKeyOf(const LaunchPrediction &prediction) {
  return {prediction.spills, !prediction.unknown.empty(), prediction.cycles};
}

class Predictor {
public:
  Predictor(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
            const TuneOptions &options, int multiprocessors)
      : source(source), candidates(candidates), options(options), multiprocessors(multiprocessors),
        refused(candidates.size()) {}

  /// By the tiles alone: one run of the front end for candidates that differ in warps and stages.
  Predictions ofTiles() {
    std::map<std::string, std::vector<size_t>> byTiles;
    for (size_t i = 0; i < candidates.size(); ++i)
      byTiles[bytesOf(candidates[i], /*ofTiles=*/true)].push_back(i);
    std::vector<std::vector<size_t>> groups;
    for (auto &group : byTiles)
      groups.push_back(std::move(group.second));
    return predict(groups, Stage::Tile);
  }

  Predictions ofPlans(const std::vector<size_t> &batch) {
    std::vector<std::vector<size_t>> groups;
    for (size_t i : batch)
      groups.push_back({i});
    return predict(groups, Stage::Plan);
  }

  std::vector<std::optional<Error>> takeRefused() { return std::move(refused); }

private:
  LaunchShape shapeOf(const CompileRequest &request) const {
    LaunchShape shape;
    shape.grid = options.grid(request.definitions);
    shape.multiprocessors = multiprocessors;
    for (const LaunchArg &arg : options.args)
      shape.integers.push_back(arg.kind == LaunchArg::Kind::Int ? std::optional(arg.integer)
                                                                : std::nullopt);
    return shape;
  }

  /// Each of `groups` is compiled once, as its first member, up to `stage`.
  Predictions predict(const std::vector<std::vector<size_t>> &groups, Stage stage) {
    std::vector<LaunchShape> shapes; // the grid is asked for on the caller's thread
    for (const std::vector<size_t> &group : groups) {
      LaunchShape &shape =
          shapes.emplace_back(shapeOf(requestFor(source.request, candidates[group[0]])));
      for (size_t i : group)
        if (stage == Stage::Tile)
          shape.variants.push_back({candidates[i].numWarps, candidates[i].numStages});
    }
    Predictions predicted(candidates.size());
    onAllCores(groups.size(),
               [&](size_t i) { predictGroup(groups[i], shapes[i], stage, predicted); });
    return predicted;
  }

  void predictGroup(const std::vector<size_t> &group, const LaunchShape &shape, Stage stage,
                    Predictions &predicted) {
    CompileRequest request = requestFor(source.request, candidates[group[0]]);
    request.observe = {};
    request.observe.launch = &shape;
    request.observe.useCache = false;
    request.observe.stopAfter = stage;
    Result<Kernel> kernel = compileText(source.text, source.fileName, request);
    for (size_t i = 0; i < group.size(); ++i)
      if (!kernel)
        refused[group[i]] = kernel.error();
      else if (i < (*kernel)->predictions.size())
        predicted[group[i]] = {(*kernel)->predictions[i], std::string((*kernel).plan())};
      else
        predicted[group[i]] = {{.unknown = "the compiler predicts nothing for it"}, ""};
  }

  const TuneSource &source;
  const std::vector<TuneCandidate> &candidates;
  const TuneOptions &options;
  const int multiprocessors;
  std::vector<std::optional<Error>> refused;
};

/// Why nothing is predicted of `list`; empty if anything is.
std::string unknownOf(const Predictions &predicted, const std::vector<size_t> &list) {
  for (size_t i : list)
    if (predicted[i]->prediction.unknown.empty())
      return "";
  return list.empty() ? "" : predicted[list[0]]->prediction.unknown;
}

void sortByPrediction(std::vector<size_t> &list, const Predictions &predicted) {
  std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) {
    return sortKeyOf(predicted[a]->prediction) < sortKeyOf(predicted[b]->prediction);
  });
}

/// Sorts what was planned. Candidates with the same definitions come in threes at most, so that
/// several tiles are kept: how warps and stages compare is known less well than how tiles do. Of
/// those with one plan as well, such as where more stages are asked for than fit, the first counts.
void sortByPlans(std::vector<size_t> &list, const Predictions &predicted,
                 const std::vector<TuneCandidate> &candidates) {
  sortByPrediction(list, predicted);
  std::set<std::pair<std::string, std::string>> plans;
  std::map<std::string, int> ofTile;
  std::set<size_t> later;
  for (size_t i : list) {
    if (!predicted[i]->prediction.unknown.empty())
      continue;
    const std::string tile = bytesOf(candidates[i].definitions);
    if (!plans.emplace(tile, predicted[i]->plan).second || ofTile[tile] == mostOfATile)
      later.insert(i);
    else
      ++ofTile[tile];
  }
  auto rank = [&](size_t i) {
    const auto [spills, isUnknown, cycles] = sortKeyOf(predicted[i]->prediction);
    return std::tuple(spills, isUnknown, later.contains(i));
  };
  std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
}

/// Moves up to `count` of `waiting` to `planned`, with what was predicted: what does not fit makes
/// room for the next.
Predictions plan(Predictor &predictor, std::vector<size_t> &waiting, size_t count,
                 std::vector<size_t> &planned) {
  Predictions predicted;
  while (!waiting.empty() && planned.size() < count) {
    const auto end = waiting.begin() + std::min(waiting.size(), count - planned.size());
    const std::vector<size_t> batch(waiting.begin(), end);
    waiting.erase(waiting.begin(), end);
    Predictions found = predictor.ofPlans(batch);
    predicted.resize(found.size());
    for (size_t i : batch)
      if (found[i])
        planned.push_back(i), predicted[i] = std::move(found[i]);
  }
  return predicted;
}

} // namespace

PlanRanking rankByPlans(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options, int multiprocessors) {
  Predictor predictor(source, candidates, options, multiprocessors);
  PlanRanking ranking;
  std::vector<size_t> waiting(candidates.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  const size_t count = std::max(leastPlanned, options.keep);
  if (candidates.size() > count) {
    const Predictions tiles = predictor.ofTiles();
    std::erase_if(waiting, [&](size_t i) { return !tiles[i]; });
    sortByPrediction(waiting, tiles);
    ranking.unknown = unknownOf(tiles, waiting);
  }
  const Predictions plans = plan(predictor, waiting, count, ranking.order);
  sortByPlans(ranking.order, plans, candidates);
  if (ranking.unknown.empty())
    ranking.unknown = unknownOf(plans, ranking.order);
  ranking.predictions.resize(candidates.size());
  for (size_t i : ranking.order)
    ranking.predictions[i] = plans[i]->prediction;
  ranking.order.insert(ranking.order.end(), waiting.begin(), waiting.end());
  ranking.refused = predictor.takeRefused();
  return ranking;
}

} // namespace pantile
