//===- TensorMapTest.cpp - tensor maps made of launch arguments ---------------------------===//
#include "runtime/TensorMap.h"
#include <gmock/gmock.h>

using namespace pantile;
using testing::ElementsAre;

namespace {

/// A driver that keeps what it was asked to encode.
struct Encoder {
  inline static int calls, dataType, swizzle;
  inline static uint64_t base;
  inline static std::vector<uint64_t> extents, strides;
  inline static std::vector<uint32_t> box;

  static Driver driver() {
    calls = 0;
    Driver d;
    d.tensorMapEncodeTiled = [](void *map, int type, uint32_t rank, CUdeviceptr address,
                                const uint64_t *dims, const uint64_t *steps, const uint32_t *boxes,
                                const uint32_t *, int, int mode, int, int) {
      ++calls, dataType = type, base = address, swizzle = mode;
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

std::vector<LaunchArg> arguments(uint64_t pointer, int64_t m, int64_t k, int64_t stride) {
  return {LaunchArg::ptr(reinterpret_cast<void *>(pointer)), LaunchArg::i(m), LaunchArg::i(k),
          LaunchArg::i(stride)};
}

TEST(TensorMap, IsComputedFromTheArguments) {
  auto maps = encodeTensorMaps(Encoder::driver(), {matrix()}, arguments(0x1000, 300, 200, 208));
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
  const std::vector<std::vector<LaunchArg>> cases = {
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
    EXPECT_FALSE(encodeTensorMaps(Encoder::driver(), {matrix()}, args));
    EXPECT_EQ(Encoder::calls, 0);
  }
}

TEST(TensorMap, NeedsADriverThatEncodes) {
  EXPECT_FALSE(encodeTensorMaps(Driver(), {matrix()}, arguments(0x1000, 300, 200, 208)));
  EXPECT_TRUE(encodeTensorMaps(Driver(), {}, {}));
}
} // namespace
