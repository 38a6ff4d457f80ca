//===- StreamKChoiceTest.cpp - which launches split their tiles over CTAs ------------------===//
// What is measured is in docs/measurements/stream-k-choice-2026-11-29.json: GEMMs in fp16 on an H200.
#include "runtime/StreamKChoice.h"
#include <gtest/gtest.h>

using namespace pantile;

namespace {

constexpr int sms = 132;
const MemoryThresholds costs;

/// Tiles of a GEMM in fp16, as PlanPrograms estimates them.
struct Tile {
  int64_t m, n, k;
  int ctasPerSm;
  StreamKEstimate estimate;
};
const Tile wide{128, 256, 64, 1, {{}, 64, 1024, 1365, 8, 131072}};
const Tile square{128, 128, 64, 1, {{}, 64, 640, 910, 7, 65536}};
const Tile small{64, 128, 64, 2, {{}, 64, 384, 683, 3, 32768}};
const Tile deep{64, 64, 128, 1, {{}, 128, 512, 910, 4, 16384}};

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

double speedup(const Tile &tile, int64_t m, int64_t n, int64_t k) {
  return streamKSpeedup(tile.estimate, costs,
                        {ceilDiv(m, tile.m) * ceilDiv(n, tile.n), ceilDiv(k, tile.k)},
                        sms * tile.ctasPerSm, sms);
}

TEST(StreamKChoice, FewTilesOfALongKAreSplit) {
  EXPECT_GT(speedup(wide, 256, 1024, 14336), 2);    // measured: 3.2
  EXPECT_GT(speedup(square, 128, 2112, 7168), 1.5); // 2.0
  EXPECT_GT(speedup(wide, 2304, 2304, 2304), 1.2);  // 1.3: 1.23 waves
  EXPECT_GT(speedup(small, 64, 4096, 14336), 1.2);  // 1.4
}

TEST(StreamKChoice, WhatLosesStaysWhole) {
  EXPECT_LT(speedup(small, 1024, 1024, 1024), 1.2); // 0.66: each tile has an SM for itself
  EXPECT_LT(speedup(small, 1280, 1280, 8192), 1.2); // 0.72: L2 is busy without
  EXPECT_LT(speedup(deep, 384, 384, 4096), 1.2);    // 0.86
  EXPECT_LT(speedup(small, 384, 384, 4096), 1.2);   // 0.77: many partial tiles
  EXPECT_LT(speedup(deep, 5120, 5120, 1280), 1.2);  // 0.73
}

TEST(StreamKChoice, NothingIsSplitInFullWavesAndShortLoops) {
  for (int64_t waves : {1, 2, 7})
    EXPECT_EQ(streamKSpeedup(wide.estimate, costs, {waves * sms, 1000}, sms, sms), 1);
  for (int64_t iterations : {int64_t(-1), int64_t(0), int64_t(1), int64_t(8), mostSplitIterations})
    EXPECT_EQ(streamKSpeedup(wide.estimate, costs, {1, iterations}, sms, sms), 1);
  EXPECT_EQ(streamKSpeedup(wide.estimate, costs, {1, 1000}, mostSplitCtas + 1, sms), 1);
}

TEST(StreamKChoice, LongerLoopsGainMoreAndNeverMoreThanAllCtas) {
  for (int64_t programs : {1, 5, 100, 140, 500}) {
    double last = 0;
    for (int64_t iterations = 16; iterations < mostSplitIterations; iterations *= 2) {
      const double now =
          std::max(1.0, streamKSpeedup(square.estimate, costs, {programs, iterations}, sms, sms));
      EXPECT_GE(now, last * 0.999) << programs << " programs, " << iterations;
      EXPECT_LE(now, double(sms) / double(std::min<int64_t>(programs, sms)) + 1);
      last = now;
    }
  }
}

TEST(StreamKChoice, CountsIterationsByTheArguments) {
  auto data = std::make_shared<Kernel::Data>();
  data->streamK = square.estimate;
  data->streamK->dividend = {{{1, {2}}, {-1, {1}}, {63, {}}}}; // arguments 2 - 1 + 63
  const Kernel kernel(data);
  auto count = [&](int64_t begin, int64_t end) {
    return tileCountOf(kernel, {0, uint64_t(begin), uint64_t(end)}, {2, 3, 4});
  };
  EXPECT_EQ(count(0, 64).programs, 24);
  EXPECT_EQ(count(0, 64).iterations, 1);
  EXPECT_EQ(count(0, 65).iterations, 2);
  EXPECT_EQ(count(100, 165).iterations, 2);
  EXPECT_LE(count(100, 3).iterations, 0);
  data->streamK->dividend = {{{1, {1, 1, 1}}}};
  EXPECT_EQ(count(int64_t(1) << 30, 0).iterations, 0) << "it overflows";
}

} // namespace
