//===- TensorMapTest.cpp - tensor maps made of launch arguments ---------------------------===//
#include "runtime/TensorMap.h"
#include <gmock/gmock.h>
#include <optional>

using namespace pantile;
using testing::ElementsAre;

namespace {

/// A driver that keeps what it was to encode.
struct Encoder {
  inline static int calls, dataType, swizzle, promotion;
  inline static uint64_t base;
  inline static std::vector<uint64_t> extents, strides;
  inline static std::vector<uint32_t> box;

  static Driver driver() {
    calls = 0;
    Driver d;
    d.tensorMapEncodeTiled = [](void *map, int type, uint32_t rank, CUdeviceptr address,
                                const uint64_t *dims, const uint64_t *steps, const uint32_t *boxes,
                                const uint32_t *, int, int mode, int promoted, int) {
      ++calls, dataType = type, base = address, swizzle = mode, promotion = promoted;
      extents.assign(dims, dims + rank);
      strides.assign(steps, steps + rank - 1);
      box.assign(boxes, boxes + rank);
      static_cast<EncodedTensorMap *>(map)->words[0] = 42;
      return 0;
    };
    return d;
  }
};

/// A of M x K elements of 16 bits; arguments: pointer, M, K, stride.
TensorMapRecipe matrix() {
  TensorMapRecipe recipe;
  recipe.base = 0;
  recipe.offset = {{{32, {}}}};
  recipe.element = "f16";
  recipe.extents = {{{{1, {2}}}}, {{{1, {1}}}}};
  recipe.strides = {{{{2, {3}}}}};
  recipe.box = {64, 128};
  recipe.swizzle = 128;
  recipe.nonNegative = {1};
  return recipe;
}

std::vector<uint64_t> arguments(uint64_t pointer, int64_t m, int64_t k, int64_t stride) {
  return {pointer, uint64_t(m), uint64_t(k), uint64_t(stride)};
}

using Maps = std::optional<EncodedTensorMaps>;

/// The maps of one launch under a plan, by default one that no launch had before.
Maps encoded(const Driver &driver, const std::vector<TensorMapRecipe> &recipes,
             const std::vector<uint64_t> &args, const MapPlan &plan, const Grid &grid = {1, 1, 1}) {
  EncodedTensorMaps maps;
  return encodeTensorMaps(driver, recipes, plan, args, grid, maps) ? Maps(maps) : std::nullopt;
}
Maps encoded(const Driver &driver, const std::vector<TensorMapRecipe> &recipes,
             const std::vector<uint64_t> &args) {
  return encoded(driver, recipes, args, MapPlan(recipes));
}

TEST(TensorMap, HasQuotientsOfArguments) {
  TensorMapRecipe recipe = matrix();
  recipe.extents[0] = {{{1, {{2, 2}}}}};
  recipe.strides[0] = {{{1, {{3, 4}, 1}}}};
  recipe.multiples = {{{{{1, {{3, 4}}}}}, 16}};
  ASSERT_TRUE(encoded(Encoder::driver(), {recipe}, arguments(0x1000, 8, 201, 130)));
  EXPECT_THAT(Encoder::extents, ElementsAre(100u, 8u));
  EXPECT_THAT(Encoder::strides, ElementsAre(8u * 32u));
  EXPECT_FALSE(encoded(Encoder::driver(), {recipe}, arguments(0x1000, 8, 201, 136)));
}

TEST(TensorMap, IsComputedFromTheArguments) {
  auto maps = encoded(Encoder::driver(), {matrix()}, arguments(0x1000, 300, 200, 208));
  ASSERT_TRUE(maps);
  EXPECT_EQ((*maps)[0].words[0], 42u);
  EXPECT_EQ(Encoder::base, 0x1020u);
  EXPECT_EQ(Encoder::dataType, 6); // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
  EXPECT_EQ(Encoder::swizzle, 3);  // CU_TENSOR_MAP_SWIZZLE_128B
  EXPECT_THAT(Encoder::extents, ElementsAre(200u, 300u));
  EXPECT_THAT(Encoder::strides, ElementsAre(416u));
  EXPECT_THAT(Encoder::box, ElementsAre(64u, 128u));
}

TEST(TensorMap, IsRefusedWhereItCannotSayTheSame) {
  const std::vector<std::vector<uint64_t>> cases = {
      arguments(0x1008, 300, 200, 208),            // base not aligned
      arguments(0x1000, 0, 200, 208),              // nothing to read
      arguments(0x1000, -5, 200, 208),             // an argument that must not be negative
      arguments(0x1000, 300, int64_t(1) << 33, 8), // too long
      arguments(0x1000, 300, 200, 204),            // 408 bytes are no multiple of 16
      arguments(0x1000, 300, 200, -208),           // backwards
      arguments(0x1000, 300, 200, 0),              // every row the same
      arguments(0x1000, 300, 200, int64_t(1) << 62),
  };
  for (const auto &args : cases) {
    EXPECT_FALSE(encoded(Encoder::driver(), {matrix()}, args));
    EXPECT_EQ(Encoder::calls, 0);
  }
}

TEST(TensorMap, IsRefusedForStoresWhoseRowsEndWithin16Bytes) {
  TensorMapRecipe written = matrix();
  written.isWritten = true;
  for (int64_t columns : {200, 204, 201}) {
    const auto args = arguments(0x1000, 300, columns, 208);
    EXPECT_TRUE(encoded(Encoder::driver(), {matrix()}, args));
    EXPECT_EQ(encoded(Encoder::driver(), {written}, args).has_value(), columns == 200);
  }
}

TEST(TensorMap, IsRefusedWhereTilesDoNotFillARange) {
  TensorMapRecipe wrapping = matrix();
  wrapping.multiples = {{{{{1, {1}}}}, 64}};
  const std::vector<TensorMapRecipe> recipes = {wrapping};
  const MapPlan plan(recipes);
  for (int64_t rows : {320, 300, 64, 32, 320})
    EXPECT_EQ(
        encoded(Encoder::driver(), recipes, arguments(0x1000, rows, 200, 208), plan).has_value(),
        rows % 64 == 0);
}

TEST(TensorMap, PromotesReadsLessWhereRowsDoNotBeginAtSectors) {
  constexpr int to128Bytes = 2, to256Bytes = 3;
  for (auto [base, stride, promotion] : {std::tuple(0x1000, 208, to256Bytes),
                                         {0x1000, 200, to128Bytes},
                                         {0x1010, 208, to128Bytes}}) {
    ASSERT_TRUE(encoded(Encoder::driver(), {matrix()}, arguments(base, 300, 200, stride)));
    EXPECT_EQ(Encoder::promotion, promotion);
  }
}

TEST(TensorMap, IsEmptyWhereTheKernelTestsItself) {
  TensorMapRecipe tested = matrix();
  tested.isWritten = tested.mayBeEmpty = true;
  tested.multiples = {{{{{1, {2}}}}, 8}};
  const std::vector<TensorMapRecipe> recipes = {tested};
  const MapPlan plan(recipes);
  for (int64_t columns : {200, 201, 204, 200, 201}) {
    const auto maps =
        encoded(Encoder::driver(), recipes, arguments(0x1000, 300, columns, 208), plan);
    ASSERT_TRUE(maps);
    EXPECT_EQ((*maps)[0].words[0], columns % 8 == 0 ? 42u : 0u);
  }
  EXPECT_FALSE(encoded(Encoder::driver(), recipes, arguments(0x1000, -1, 200, 208), plan));
}

TEST(TensorMap, IsRefusedWhereACoordinateMightNotFit) {
  TensorMapRecipe batched = matrix();
  const int programs = HostPolynomial::gridArg + 1;
  batched.conditions = {{{{(int64_t(1) << 31) - 1, {}}, {-64, {programs}}}},
                        {{{2, {3}}, {-128, {}}}}};
  const std::vector<TensorMapRecipe> recipes = {batched};
  const MapPlan plan(recipes);
  const auto args = arguments(0x1000, 300, 200, 208);
  for (int64_t extent :
       {int64_t(1), int64_t(1) << 24, int64_t(1) << 25, int64_t(1) << 60, (int64_t(1) << 25) - 1})
    EXPECT_EQ(encoded(Encoder::driver(), recipes, args, plan, {7, extent, 9}).has_value(),
              extent < int64_t(1) << 25);
  EXPECT_FALSE(encoded(Encoder::driver(), recipes, arguments(0x1000, 300, 56, 56), plan));
}

TEST(TensorMap, IsRefusedWhereItsBaseWouldBeBelowZero) {
  TensorMapRecipe far = matrix();
  far.offset = {{{-4096, {3}}}};
  const uint64_t distance = 4096 * 208;
  EXPECT_TRUE(encoded(Encoder::driver(), {far}, arguments(distance + 0x1000, 300, 200, 208)));
  EXPECT_EQ(Encoder::base, 0x1000u);
  EXPECT_FALSE(encoded(Encoder::driver(), {far}, arguments(distance - 0x1000, 300, 200, 208)));
}

TEST(TensorMap, NeedsADriverThatEncodes) {
  EXPECT_FALSE(encoded(Driver(), {matrix()}, arguments(0x1000, 300, 200, 208)));
  EXPECT_TRUE(encoded(Driver(), {}, {}));
}

TEST(TensorMap, IsMadeOnceForTheSameArguments) {
  const Driver driver = Encoder::driver();
  const std::vector<TensorMapRecipe> recipes = {matrix(), matrix()};
  const MapPlan plan(recipes), other(recipes);
  auto calls = [&](const MapPlan &plan, const std::vector<uint64_t> &args) {
    const int before = Encoder::calls;
    EXPECT_TRUE(encoded(driver, recipes, args, plan));
    return Encoder::calls - before;
  };
  const auto first = arguments(0x1000, 300, 200, 208);
  EXPECT_EQ(calls(plan, first), 2);
  EXPECT_EQ(calls(plan, first), 0);
  EXPECT_EQ(calls(other, first), 2); // another kernel, whose recipes may differ
  EXPECT_EQ(calls(plan, arguments(0x2000, 300, 200, 208)), 2);
  EXPECT_EQ(Encoder::base, 0x2020u);
  EXPECT_EQ(calls(plan, arguments(0x1000, 301, 200, 208)), 2);
  EXPECT_THAT(Encoder::extents, ElementsAre(200u, 301u));
  EXPECT_EQ(calls(plan, arguments(0x1000, 300, 192, 208)), 2);
  EXPECT_EQ(calls(plan, arguments(0x1000, 300, 200, 216)), 2);
  EXPECT_THAT(Encoder::strides, ElementsAre(432u));
  EXPECT_EQ(calls(plan, arguments(0x1000, 300, 200, 216)), 0);
  // A driver that refuses leaves no state.
  Driver refusing = driver;
  refusing.tensorMapEncodeTiled = [](void *, int, uint32_t, CUdeviceptr, const uint64_t *,
                                     const uint64_t *, const uint32_t *, const uint32_t *, int, int,
                                     int, int) { return 1; };
  const auto third = arguments(0x3000, 300, 200, 208);
  EXPECT_FALSE(encoded(refusing, recipes, third, plan));
  EXPECT_FALSE(encoded(refusing, recipes, third, plan));
  EXPECT_EQ(calls(plan, third), 2);
}

TEST(TensorMap, OfManyTensorsInTurnAreKept) {
  const Driver driver = Encoder::driver();
  const std::vector<TensorMapRecipe> recipes = {matrix(), matrix(), matrix(), matrix()};
  const MapPlan plan(recipes);
  // Tensors as an allocator places them, 16 sets of them, one after the other.
  auto launchAll = [&] {
    const int before = Encoder::calls;
    for (uint64_t set = 0; set < 16; ++set)
      EXPECT_TRUE(
          encoded(driver, recipes, arguments(0x7f0000000000 + 0x20000 * set, 300, 200, 208), plan));
    return Encoder::calls - before;
  };
  EXPECT_EQ(launchAll(), 64);
  EXPECT_LE(launchAll(), 4); // but where many fall together
}

TEST(TensorMap, OfManyArgumentsIsMadeEachTime) {
  TensorMapRecipe recipe = matrix();
  std::vector<uint64_t> args = arguments(0x1000, 300, 200, 208);
  for (int i = 4; i < 16; ++i) {
    recipe.offset.terms.push_back({16, {i}});
    args.push_back(i);
  }
  const Driver driver = Encoder::driver();
  const MapPlan plan{llvm::ArrayRef(recipe)};
  EXPECT_FALSE(plan.inputs[0].isComplete);
  for (int last : {15, 16, 17}) {
    args.back() = last;
    ASSERT_TRUE(encoded(driver, {recipe}, args, plan));
    EXPECT_EQ(Encoder::base,
              0x1020u + 16 * (4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + last));
  }
  EXPECT_EQ(Encoder::calls, 3);
}
} // namespace
