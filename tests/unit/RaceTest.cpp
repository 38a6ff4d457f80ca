//===- RaceTest.cpp - the fastest of several by successive halving ------------------------===//
#include "pantile/Tuner.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace pantile;

namespace {

double medianOf(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

size_t winnerOf(const std::vector<std::vector<double>> &times) {
  auto median = [](const std::vector<double> &of) { return of.empty() ? INFINITY : medianOf(of); };
  auto less = [&](const auto &a, const auto &b) { return median(a) < median(b); };
  return std::min_element(times.begin(), times.end(), less) - times.begin();
}

/// Contestants whose runs take `milliseconds`, up to `noise` of it longer.
class Contestants {
public:
  Contestants(std::vector<double> milliseconds, double noise, unsigned seed)
      : milliseconds(std::move(milliseconds)), noise(noise), random(seed),
        spent(this->milliseconds.size()) {}

  std::vector<std::vector<double>> race(double budget = 50) {
    return pantile::race(
        milliseconds.size(),
        [this](size_t i, int runs) -> std::optional<std::vector<double>> {
          std::vector<double> times(runs);
          for (double &time : times) {
            time = milliseconds[i] * (1 + noise * std::uniform_real_distribution<>()(random));
            spent[i] += time;
          }
          return times;
        },
        budget);
  }

  const std::vector<double> milliseconds;
  const double noise;
  std::mt19937 random;
  std::vector<double> spent;
};

TEST(RaceTest, FindsTheFastestWhateverItsPlace) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::vector<double> milliseconds = {1.0, 1.1, 1.25, 1.6, 2.5, 9.0, 40.0};
    std::mt19937 random(seed);
    std::shuffle(milliseconds.begin(), milliseconds.end(), random);
    Contestants contestants(milliseconds, 0.08, seed);
    const size_t winner = winnerOf(contestants.race());
    EXPECT_EQ(milliseconds[winner], 1.0) << "seed " << seed;
  }
}

TEST(RaceTest, SpendsLittleOnWhatCannotWin) {
  Contestants contestants({1.0, 1.3, 2.0, 50.0}, 0.02, 1);
  contestants.race();
  EXPECT_GT(contestants.spent[0], 30);
  EXPECT_LT(contestants.spent[1], 20) << "dropped after the second round";
  EXPECT_LT(contestants.spent[2], 12) << "dropped after the first one";
  EXPECT_LE(contestants.spent[3], 5 * 50 * 1.02) << "a few single runs";
}

TEST(RaceTest, OneContestantHasTheWholeTime) {
  Contestants alone({1.0}, 0.02, 1);
  const auto times = alone.race(100);
  EXPECT_GT(alone.spent[0], 80);
  EXPECT_GT(times[0].size(), 50u);
}

TEST(RaceTest, WhatCannotRunIsOut) {
  const auto times = race(4, [](size_t i, int runs) -> std::optional<std::vector<double>> {
    if (i == 1)
      return std::nullopt;
    return std::vector<double>(runs, 1.0 + i);
  });
  EXPECT_TRUE(times[1].empty());
  EXPECT_EQ(winnerOf(times), 0u);
  EXPECT_TRUE(race(0, [](size_t, int) { return std::nullopt; }).empty());
  for (const std::vector<double> &none : race(3, [](size_t, int) { return std::nullopt; }))
    EXPECT_TRUE(none.empty());
}

/// The favourite fails after `allowed` runs, wherever in the race that is.
TEST(RaceTest, WhatFailsLaterIsOut) {
  for (int allowed = 0; allowed < 60; ++allowed) {
    int left = allowed;
    const auto times = race(3, [&](size_t i, int runs) -> std::optional<std::vector<double>> {
      if (i == 1 && (left -= runs) < 0)
        return std::nullopt;
      return std::vector<double>(runs, i == 1 ? 1.0 : 1.2 + i);
    });
    if (left < 0) {
      EXPECT_TRUE(times[1].empty()) << allowed;
      EXPECT_EQ(winnerOf(times), 0u) << allowed;
    } else {
      EXPECT_EQ(winnerOf(times), 1u) << allowed;
    }
  }
}

/// A host that is busy at first makes all runs longer, and the fastest contestant's the most.
TEST(RaceTest, WinnersRunAgainWhileALoserHasASmallerMedian) {
  double clock = 0;
  auto measure = [&](size_t i, int runs) -> std::optional<std::vector<double>> {
    std::vector<double> times;
    for (int run = 0; run < runs; ++run) {
      const bool isBusy = clock > 30 && clock < 120 && run % 4;
      times.push_back((i == 0 ? 1.0 : 1.05) * (isBusy && i == 0 ? 5 : 1));
      clock += times.back();
    }
    return times;
  };
  EXPECT_EQ(winnerOf(race(2, measure)), 0u);
}

} // namespace
