//===- TmaBoxesTest.cpp - boxes bring each element of a tile to its place, once ------------===//
#include "layout/TmaBoxes.h"

#include <gtest/gtest.h>

#include <set>

using namespace pantile;
using Shape = LinearLayout::Shape;

namespace {
/// What TMA does: rows of a box follow each other, chunks of 16 bytes are XORed with address bits.
void expectFills(const SharedLayout &shared, const TmaBoxes &boxes) {
  const int fast = shared.order()[0], slow = 1 - fast, bytes = shared.elementBits() / 8;
  std::set<int64_t> places;
  for (const TmaBoxes::Place &place : boxes.places)
    for (int64_t row = 0; row < boxes.sizes[1]; ++row)
      for (int64_t column = 0; column < boxes.sizes[0]; ++column) {
        const int64_t plain = place.bytes + (row * boxes.sizes[0] + column) * bytes;
        const int64_t mask = shared.swizzle() == 0 ? 0 : shared.swizzle() / 16 - 1;
        LinearLayout::Coord coord(2, 0);
        coord[fast] = static_cast<int32_t>(place.fast + column);
        coord[slow] = static_cast<int32_t>(place.slow + row);
        ASSERT_LT(coord[fast], shared.shape()[fast]);
        ASSERT_LT(coord[slow], shared.shape()[slow]);
        ASSERT_EQ(shared.offset(coord), plain ^ ((plain >> 7 & mask) << 4)) << shared.str();
        ASSERT_TRUE(places.insert(plain).second);
      }
  ASSERT_EQ(int64_t(places.size()), shared.shape()[0] * shared.shape()[1]);
}
} // namespace

TEST(TmaBoxes, FillABuffer) {
  for (int bits : {8, 16, 32})
    for (Shape shape : {Shape{64, 64},
                        {192, 96},
                        {176, 128},
                        {48, 192},
                        {320, 64},
                        {512, 32},
                        {88, 64},
                        {264, 64},
                        {384, 96},
                        {40, 48},
                        {24, 16}})
      for (SharedLayout::Order order : {SharedLayout::Order{1, 0}, {0, 1}}) {
        const auto shared = SharedLayout::forOperand(shape, bits, order);
        if (const auto boxes = tmaBoxes(shared)) {
          EXPECT_LE(boxes->sizes[0], 256);
          EXPECT_LE(boxes->sizes[1], 256);
          expectFills(shared, *boxes);
        } else {
          EXPECT_EQ(shared.swizzle(), 0) << shared.str();
        }
      }
}

TEST(TmaBoxes, RowsBeyondABoxAreCutEvenly) {
  const auto boxes = tmaBoxes(SharedLayout::forOperand({320, 64}, 16, {1, 0}));
  ASSERT_TRUE(boxes);
  EXPECT_EQ(boxes->sizes, (Shape{64, 160}));
  EXPECT_EQ(boxes->places.size(), 2u);
  EXPECT_FALSE(tmaBoxes(SharedLayout::forOperand({262, 64}, 16, {1, 0}))) << "2 x 131 rows";
  EXPECT_FALSE(tmaBoxes(SharedLayout::forOperand({64, 88}, 16, {1, 0}))) << "rows are padded";
}
