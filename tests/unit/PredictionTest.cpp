// What launches are expected to take: order relations that hold on any GPU.
#include "pantile/Request.h"
#include <gtest/gtest.h>

using namespace pantile;

namespace {

const char *const matmul = R"(
@triton.jit
def matmul(A, B, C, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    at = tl.arange(0, K)
    total = tl.zeros([M, N], tl.float32)
    for i in range(0, k, K):
        a = tl.load(A + rows[:, None] * k + (i + at)[None, :])
        b = tl.load(B + (i + at)[:, None] * n + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(C + rows[:, None] * n + columns[None, :], total.to(tl.float16))
)";

const char *const loops = R"(
@triton.jit
def triangle(X, OUT, n, LATE: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    first = tl.program_id(0) if LATE else 0
    for i in range(0, n):
        for j in range(first, i):
            total += tl.load(X + (i * n + j) * BLOCK + tl.arange(0, BLOCK))
    tl.store(OUT + tl.arange(0, BLOCK), total)

@triton.jit
def until(X, OUT, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    i = 0
    while i < n:
        total += tl.load(X + i * BLOCK + tl.arange(0, BLOCK))
        i += i + 1
    tl.store(OUT + tl.arange(0, BLOCK), total)

@triton.jit
def told(X, OUT, n, ENDS, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(ENDS), n):
        total += tl.load(X + i * BLOCK + tl.arange(0, BLOCK))
    tl.store(OUT + tl.arange(0, BLOCK), total)
)";

struct Tile {
  int64_t m = 128, n = 128, k = 64;
  int warps = 8, stages = 3;
};

LaunchPrediction predict(const char *text, const CompileRequest &request, const LaunchShape &shape,
                         Stage stage) {
  CompileRequest wanted = request;
  wanted.observe.launch = &shape;
  wanted.observe.stopAfter = stage;
  wanted.observe.useCache = false;
  Result<Kernel> kernel = compileText(text, "predicted.py", wanted);
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message);
  const size_t wantedCount = std::max<size_t>(shape.variants.size(), 1);
  EXPECT_TRUE(kernel && (*kernel)->predictions.size() == wantedCount);
  return kernel && !(*kernel)->predictions.empty() ? (*kernel)->predictions.back()
                                                   : LaunchPrediction();
}

class Predictions : public testing::TestWithParam<Stage> {
protected:
  static CompileRequest requestOf(Tile tile) {
    CompileRequest request;
    request.signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16";
    request.definitions = {{"M", tile.m}, {"N", tile.n}, {"K", tile.k}};
    request.options.target = "sm_90a";
    request.options.numWarps = tile.warps;
    request.options.numStages = tile.stages;
    return request;
  }

  static LaunchShape shapeOf(std::array<int64_t, 3> grid, int64_t depth = 4096, int sms = 132) {
    LaunchShape shape;
    shape.grid = grid, shape.multiprocessors = sms;
    const std::optional<int64_t> none;
    shape.integers = {none, none, none, 4096, 4096, depth};
    return shape;
  }

  LaunchPrediction ofProduct(Tile tile, std::array<int64_t, 3> grid, int64_t depth = 4096,
                             int sms = 132, std::vector<LaunchVariant> variants = {}) {
    LaunchShape shape = shapeOf(grid, depth, sms);
    shape.variants = std::move(variants);
    return predict(matmul, requestOf(tile), shape, GetParam());
  }

  /// Whatever the launch would choose.
  LaunchPrediction ofWholeTiles(Tile tile, std::array<int64_t, 3> grid, int64_t depth = 4096) {
    CompileRequest request = requestOf(tile);
    request.options.disabledPasses = {"nv-stream-k"};
    return predict(matmul, request, shapeOf(grid, depth), GetParam());
  }

  LaunchPrediction ofLoops(const std::string &kernel, int64_t n, int64_t programs,
                           bool late = false) {
    CompileRequest request;
    request.kernel = kernel;
    request.signature =
        kernel == "told" ? "*fp32:16, *fp32:16, i32, *i32" : "*fp32:16, *fp32:16, i32";
    request.definitions = {{"BLOCK", int64_t(128)}};
    if (kernel == "triangle")
      request.definitions["LATE"] = late;
    request.options.target = "sm_90a";
    LaunchShape shape;
    shape.grid = {programs, 1, 1}, shape.multiprocessors = 1;
    const std::optional<int64_t> none;
    shape.integers = {none, none, n, none};
    return predict(loops, request, shape, GetParam());
  }
};

TEST_P(Predictions, OneProgramTooManyCostsAWave) {
  const Tile tile{.m = 128, .n = 256};
  const double one = ofWholeTiles(tile, {132, 1, 1}).cycles;
  EXPECT_DOUBLE_EQ(ofWholeTiles(tile, {66, 1, 1}).cycles, one);
  EXPECT_GT(ofWholeTiles(tile, {133, 1, 1}).cycles, 1.8 * one);
  EXPECT_DOUBLE_EQ(ofWholeTiles(tile, {12, 22, 1}).cycles, ofWholeTiles(tile, {133, 1, 1}).cycles);
  EXPECT_DOUBLE_EQ(ofProduct(tile, {133, 1, 1}, 4096, 133).cycles, one);
}

TEST_P(Predictions, StreamKSharesTheLastWave) {
  if (GetParam() != Stage::Plan)
    return;
  const Tile tile{.m = 128, .n = 256};
  const double whole = ofWholeTiles(tile, {16, 25, 1}).cycles;
  CompileRequest cut = requestOf(tile);
  cut.options.enabledPasses = {"nv-stream-k"};
  const LaunchPrediction shared = predict(matmul, cut, shapeOf({16, 25, 1}), Stage::Plan);
  EXPECT_EQ(shared.unknown, "");
  EXPECT_LT(shared.cycles, 0.85 * whole) << "400 programs are 3.03 waves";
  EXPECT_GT(shared.cycles, 0.7 * whole);
}

TEST_P(Predictions, LaunchesChooseStreamKWhereItGains) {
  if (GetParam() != Stage::Plan)
    return;
  const Tile tile{.m = 128, .n = 256};
  auto gain = [&](std::array<int64_t, 3> grid, int64_t k) {
    return ofWholeTiles(tile, grid, k).cycles / ofProduct(tile, grid, k).cycles;
  };
  EXPECT_GT(gain({2, 4, 1}, 14336), 1.5);
  EXPECT_GT(gain({133, 1, 1}, 4096), 1.2);
  EXPECT_DOUBLE_EQ(gain({132, 1, 1}, 14336), 1);
  EXPECT_DOUBLE_EQ(gain({2, 4, 1}, 64), 1);
}

TEST_P(Predictions, MoreIterationsTakeLonger) {
  const double shallow = ofProduct({}, {132, 1, 1}, 1024).cycles;
  EXPECT_GT(ofProduct({}, {132, 1, 1}, 4096).cycles, 3 * shallow);
  EXPECT_LT(ofProduct({}, {132, 1, 1}, 0).cycles, shallow);
}

TEST_P(Predictions, LargeTilesInFewThreadsSpill) {
  EXPECT_FALSE(ofProduct({.m = 128, .n = 256, .warps = 8}, {132, 1, 1}).spills);
  EXPECT_FALSE(ofProduct({.m = 64, .n = 64, .warps = 4}, {132, 1, 1}).spills);
  EXPECT_TRUE(ofProduct({.m = 256, .n = 256, .warps = 4}, {132, 1, 1}).spills);
  EXPECT_TRUE(ofProduct({.m = 128, .n = 256, .warps = 4}, {132, 1, 1}).spills);
}

TEST_P(Predictions, OneRunServesAllWarpsAndStages) {
  if (GetParam() != Stage::Tile)
    return;
  for (const auto &[warps, stages] : {std::pair(4, 3), {8, 3}, {8, 7}, {1, 2}}) {
    const LaunchPrediction own = ofProduct({.warps = warps, .stages = stages}, {500, 1, 1});
    const LaunchPrediction shared =
        ofProduct({}, {500, 1, 1}, 4096, 132, {{16, 1}, {.numWarps = warps, .numStages = stages}});
    EXPECT_EQ(own.cycles, shared.cycles);
    EXPECT_EQ(own.registers, shared.registers);
    EXPECT_EQ(own.ctasPerSm, shared.ctasPerSm);
    EXPECT_EQ(own.spills, shared.spills);
  }
}

TEST_P(Predictions, SmallTilesReadMore) {
  const double large = ofProduct({.m = 128, .n = 256}, {16, 8, 1}).cycles,
               small = ofProduct({.m = 32, .n = 32, .warps = 4}, {64, 64, 1}).cycles;
  EXPECT_LT(large, small);
}

TEST_P(Predictions, InnerLoopsCountWithThoseAround) {
  const double few = ofLoops("triangle", 64, 1).cycles, many = ofLoops("triangle", 256, 1).cycles;
  EXPECT_GT(many, 10 * few) << "a loop in a loop";
  EXPECT_LT(many, 20 * few);
}

TEST_P(Predictions, ProgramsThatDifferCountInTheMean) {
  const double all = ofLoops("triangle", 256, 256).cycles,
               half = ofLoops("triangle", 256, 256, /*late=*/true).cycles;
  EXPECT_GT(half, 0.2 * all);
  EXPECT_LT(half, 0.8 * all);
}

TEST_P(Predictions, WhatIsNotKnownIsSaid) {
  EXPECT_EQ(ofLoops("until", 64, 1).unknown, "how often a `while` loop runs is not known");
  const LaunchPrediction told = ofLoops("told", 64, 1);
  EXPECT_EQ(told.unknown, "how often a loop runs does not follow from the arguments");
  EXPECT_EQ(told.cycles, 0);
}

INSTANTIATE_TEST_SUITE_P(Stages, Predictions, testing::Values(Stage::Tile, Stage::Plan),
                         [](const auto &info) {
                           return info.param == Stage::Tile ? "Tile" : "Plan";
                         });

} // namespace
