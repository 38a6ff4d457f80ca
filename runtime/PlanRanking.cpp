//===- PlanRanking.cpp - candidates of the tuner by what the compiler plans for them --------===//
// Needs: see PlanRanking.h.
// Gives: rankByPlans.
//===------------------------------------------------------------------------------------===//
#include "runtime/PlanRanking.h"
#include <map>

namespace pantile {
namespace {

/// Predicts candidates; keeps why one cannot run.
class Predictor {
public:
  using Predictions = std::vector<std::optional<PredictedCandidate>>;

  Predictor(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
            const TuneOptions &options, int sms)
      : source(source), candidates(candidates), options(options), sms(sms),
        refused(candidates.size()) {}

  /// By the tiles alone: one run of the front end for candidates that differ in warps and stages.
  Predictions byTiles(const std::vector<size_t> &numbers) {
    std::map<std::string, std::vector<size_t>> byTiles;
    for (size_t i : numbers)
      byTiles[bytesOf(candidates[i], /*ofTiles=*/true)].push_back(i);
    std::vector<std::vector<size_t>> groups;
    for (auto &group : byTiles)
      groups.push_back(std::move(group.second));
    return predict(numbers, groups, Stage::Tile);
  }

  Predictions byPlans(const std::vector<size_t> &numbers) {
    std::vector<std::vector<size_t>> groups;
    for (size_t i : numbers)
      groups.push_back({i});
    return predict(numbers, groups, Stage::Plan);
  }

  std::vector<std::optional<Error>> takeRefused() { return std::move(refused); }

private:
  LaunchShape shapeOf(const CompileRequest &request) const {
    LaunchShape shape;
    shape.grid = options.grid(request.definitions);
    shape.multiprocessors = sms;
    for (const LaunchArg &arg : options.args)
      shape.integers.push_back(arg.kind == LaunchArg::Kind::Int ? std::optional(arg.integer)
                                                                : std::nullopt);
    return shape;
  }

  /// Each of `groups`, which are `numbers` together, is compiled once, as its first member, up to
  /// `stage`.
  Predictions predict(const std::vector<size_t> &numbers,
                      const std::vector<std::vector<size_t>> &groups, Stage stage) {
    std::vector<LaunchShape> shapes; // the grid is asked for on the caller's thread
    for (const std::vector<size_t> &group : groups) {
      LaunchShape &shape =
          shapes.emplace_back(shapeOf(requestFor(source.request, candidates[group[0]])));
      for (size_t i : group)
        if (stage == Stage::Tile)
          shape.variants.push_back({candidates[i].numWarps, candidates[i].numStages});
    }
    Predictions ofAll(candidates.size());
    onAllCores(groups.size(), [&](size_t i) { predictGroup(groups[i], shapes[i], stage, ofAll); });
    Predictions predicted;
    for (size_t i : numbers)
      predicted.push_back(std::move(ofAll[i]));
    return predicted;
  }

  void predictGroup(const std::vector<size_t> &group, const LaunchShape &shape, Stage stage,
                    Predictions &ofAll) {
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
        ofAll[group[i]] = {(*kernel)->predictions[i], std::string((*kernel).plan())};
      else
        ofAll[group[i]] = {{.unknown = "the compiler predicts nothing for it"}, ""};
  }

  const TuneSource &source;
  const std::vector<TuneCandidate> &candidates;
  const TuneOptions &options;
  const int sms;
  std::vector<std::optional<Error>> refused;
};

} // namespace

PlanRanking rankByPlans(const TuneSource &source, const std::vector<TuneCandidate> &candidates,
                        const TuneOptions &options, int sms) {
  Predictor predictor(source, candidates, options, sms);
  std::vector<std::string> tiles;
  for (const TuneCandidate &candidate : candidates)
    tiles.push_back(bytesOf(candidate.definitions));
  CandidateRanking ranking = rankCandidates(
      tiles, [&](const std::vector<size_t> &numbers) { return predictor.byTiles(numbers); },
      [&](const std::vector<size_t> &numbers) { return predictor.byPlans(numbers); }, options.keep);
  return {std::move(ranking), predictor.takeRefused()};
}

} // namespace pantile
