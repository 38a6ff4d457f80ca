//===- CandidateRankingTest.cpp - the order of candidates by their predictions --------------===//
#include "pantile/Tuner.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace pantile;

namespace {

using Numbers = std::vector<size_t>;

struct Candidate {
  std::string tile;
  std::optional<PredictedCandidate> prediction;
};

Candidate candidate(std::string tile, double cycles, std::string plan, bool spills = false) {
  return {std::move(tile), {{{cycles, "", 0, 0, spills}, std::move(plan)}}};
}

Candidate unknown(std::string tile) { return {std::move(tile), {{{0, "a loop"}, "x"}}}; }

/// Ranks candidates whose predictions are made up, the same ones by tiles and by plans.
class Space {
public:
  explicit Space(std::vector<Candidate> candidates) : candidates(std::move(candidates)) {}

  CandidateRanking rank(size_t keep = 0) {
    std::vector<std::string> tiles;
    for (const Candidate &candidate : candidates)
      tiles.push_back(candidate.tile);
    return rankCandidates(
        tiles, [this](const Numbers &numbers) { return predict(numbers, byTiles); },
        [this](const Numbers &numbers) { return predict(numbers, byPlans); }, keep);
  }

  std::vector<Numbers> byTiles, byPlans; ///< what was asked for
  std::optional<size_t> withoutPlan;     ///< a candidate that turns out to be unable to run

private:
  std::vector<std::optional<PredictedCandidate>> predict(const Numbers &numbers,
                                                         std::vector<Numbers> &asked) const {
    asked.push_back(numbers);
    std::vector<std::optional<PredictedCandidate>> found;
    for (size_t number : numbers) {
      const bool isAble = &asked != &byPlans || number != withoutPlan;
      found.push_back(isAble ? candidates[number].prediction : std::nullopt);
    }
    return found;
  }

  std::vector<Candidate> candidates;
};

Numbers upTo(size_t count, size_t begin = 0) {
  Numbers numbers(count - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

TEST(CandidateRankingTest, PutsWhatSpillsLast) {
  Space space({candidate("0", 1, "a", /*spills=*/true), candidate("0", 2, "b"),
               candidate("0", 2, "b"), unknown("1")});
  EXPECT_EQ(space.rank().order, Numbers({1, 2, 3, 0}));
}

TEST(CandidateRankingTest, CountsTheFirstOfOnePlan) {
  Space space({candidate("0", 5, "a"), candidate("0", 5, "a"), candidate("1", 7, "a")});
  EXPECT_EQ(space.rank().order, Numbers({0, 2, 1}));
}

TEST(CandidateRankingTest, LetsOtherTilesHaveTheirTurn) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 5; ++i)
    candidates.push_back(candidate("0", i, std::to_string(i)));
  candidates.push_back(candidate("1", 9, ""));
  EXPECT_EQ(Space(candidates).rank().order, Numbers({0, 1, 2, 5, 3, 4}));
}

TEST(CandidateRankingTest, KeepsTheOrderOfWhatIsUnknown) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 9; ++i)
    candidates.push_back(unknown(std::to_string(i % 2)));
  const CandidateRanking ranking = Space(candidates).rank();
  EXPECT_EQ(ranking.order, upTo(9));
  EXPECT_EQ(ranking.unknown, "a loop");
}

TEST(CandidateRankingTest, LeavesOutWhatCannotRun) {
  Space space({candidate("0", 5, "a"), {"1", std::nullopt}, candidate("2", 3, "c")});
  const CandidateRanking ranking = space.rank();
  EXPECT_EQ(ranking.order, Numbers({2, 0}));
  EXPECT_FALSE(ranking.planned[1]);
  EXPECT_EQ(ranking.planned[2]->cycles, 3);
}

TEST(CandidateRankingTest, PlansTheBestOfManyByTheirTiles) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 100; ++i)
    candidates.push_back(candidate(std::to_string(i), 100 - i, std::to_string(i)));
  Space space(candidates);
  const CandidateRanking ranking = space.rank();
  EXPECT_EQ(space.byTiles, std::vector<Numbers>({upTo(100)}));
  ASSERT_EQ(space.byPlans.size(), 1u);
  Numbers best = upTo(100, 36);
  std::reverse(best.begin(), best.end());
  EXPECT_EQ(space.byPlans[0], best);
  EXPECT_EQ(ranking.order.size(), 100u); // what was not planned follows
  EXPECT_FALSE(ranking.planned[0]);
}

TEST(CandidateRankingTest, PlansAsManyAsAreKept) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 100; ++i)
    candidates.push_back(candidate(std::to_string(i), i, std::to_string(i)));
  Space space(candidates);
  space.rank(/*keep=*/80);
  EXPECT_EQ(space.byPlans, std::vector<Numbers>({upTo(80)}));
}

TEST(CandidateRankingTest, LetsOthersFollowWhatHasNoPlan) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < 70; ++i)
    candidates.push_back(candidate(std::to_string(i), i, std::to_string(i)));
  Space space(candidates);
  space.withoutPlan = 7;
  const CandidateRanking ranking = space.rank();
  EXPECT_EQ(space.byPlans, std::vector<Numbers>({upTo(64), {64}}));
  EXPECT_EQ(ranking.order.size(), 69u);
}

TEST(CandidateRankingTest, RanksNone) { EXPECT_TRUE(Space({}).rank().order.empty()); }

} // namespace
