//===- SharedLayoutTest.cpp - the hardware's swizzle and its banks ------------===//
#include "layout/SharedLayout.h"
#include "layout/MatrixAccess.h"
#include "layout/TransposingLayout.h"

#include <gtest/gtest.h>

#include <set>

using namespace pantile;
using Coord = LinearLayout::Coord;

namespace {
void expectPermutation(const SharedLayout &layout) {
  std::set<int64_t> offsets;
  for (int i = 0; i < layout.shape()[0]; ++i)
    for (int j = 0; j < layout.shape()[1]; ++j) {
      const int64_t offset = layout.offset(Coord{i, j});
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + layout.elementBits() / 8, layout.bytes());
      EXPECT_TRUE(offsets.insert(offset).second) << layout.str() << " at " << i << "," << j;
    }
}
} // namespace

TEST(SharedLayout, TheLargestSpanThatARowFills) {
  EXPECT_EQ(SharedLayout::forOperand({128, 64}, 16, {1, 0}).swizzle(), 128);
  EXPECT_EQ(SharedLayout::forOperand({128, 256}, 16, {1, 0}).swizzle(), 128);
  EXPECT_EQ(SharedLayout::forOperand({128, 32}, 16, {1, 0}).swizzle(), 64);
  EXPECT_EQ(SharedLayout::forOperand({128, 16}, 16, {1, 0}).swizzle(), 32);
  EXPECT_EQ(SharedLayout::forOperand({128, 8}, 16, {1, 0}).swizzle(), 0);
  EXPECT_EQ(SharedLayout::forOperand({128, 64}, 8, {0, 1}).swizzle(), 128);
}

TEST(SharedLayout, EveryElementHasItsOwnPlace) {
  for (int bits : {8, 16, 32, 64})
    for (LinearLayout::Shape shape : {LinearLayout::Shape{16, 16}, {64, 128}, {8, 4}, {256, 8}})
      for (SharedLayout::Order order : {SharedLayout::Order{0, 1}, {1, 0}}) {
        expectPermutation(SharedLayout::forOperand(shape, bits, order));
        expectPermutation(SharedLayout::scratch(shape, bits, order));
      }
}

TEST(SharedLayout, TheSwizzleIsThatOfTensorMaps) {
  const auto layout = SharedLayout::forOperand({64, 128}, 16, {1, 0});
  EXPECT_EQ(layout.panels(), 2);
  EXPECT_EQ(layout.panelBytes(), 64 * 128);
  EXPECT_EQ(layout.alignment(), 1024);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 128; ++j) {
      const int panel = j / 64, chunk = j % 64 / 8, within = j % 8 * 2;
      EXPECT_EQ(layout.offset(Coord{i, j}),
                panel * 8192 + i * 128 + ((chunk ^ i % 8) * 16) + within);
    }
  const auto narrow = SharedLayout::forOperand({64, 32}, 16, {1, 0}); // two rows per 128 bytes
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 32; ++j)
      EXPECT_EQ(narrow.offset(Coord{i, j}), i * 64 + ((j / 8 ^ i / 2 % 4) * 16) + j % 8 * 2);
}

TEST(SharedLayout, OffsetsAreLinearWithoutPadding) {
  const auto layout = SharedLayout::forOperand({64, 64}, 16, {0, 1});
  ASSERT_TRUE(layout.isLinear());
  for (int a = 0; a < 4096; a += 37)
    for (int b = 0; b < 4096; b += 101) {
      const Coord x{a / 64, a % 64}, y{b / 64, b % 64}, z{x[0] ^ y[0], x[1] ^ y[1]};
      EXPECT_EQ(layout.offset(z), layout.offset(x) ^ layout.offset(y));
    }
}

// ldmatrix reads one 16-byte chunk of each of 8 neighbouring rows: they must lie in 8 bank groups.
TEST(SharedLayout, AColumnOfChunksTouchesEveryBankGroupOnce) {
  for (int64_t columns : {64, 128, 32, 16}) {
    const auto layout = SharedLayout::forOperand({64, columns}, 16, {1, 0});
    for (int row = 0; row < 64; row += 8)
      for (int col = 0; col < columns; col += 8) {
        std::set<int64_t> groups;
        for (int r = 0; r < 8; ++r)
          groups.insert(layout.offset(Coord{row + r, col}) % 128 / 16);
        EXPECT_EQ(groups.size(), 8u) << layout.str() << " column " << col;
      }
  }
}

TEST(SharedLayout, WithoutASwizzleTheSameColumnCollides) {
  const SharedLayout plain({64, 64}, 16, {1, 0}, 0);
  const auto column = LinearLayout::blocked({64, 64}, {1, 8}, {32, 1}, {1, 4}, {1, 0});
  EXPECT_EQ(plain.bankConflicts(column, 16), 8);
  EXPECT_EQ(SharedLayout::forOperand({64, 64}, 16, {1, 0}).bankConflicts(column, 16), 1);
  EXPECT_EQ(SharedLayout::scratch({64, 64}, 16, {1, 0}).bankConflicts(column, 16), 1);
}

TEST(SharedLayout, CoalescedStoresAreWideAndFreeOfConflicts) {
  const auto rows = LinearLayout::blocked({128, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  const auto layout = SharedLayout::forOperand({128, 64}, 16, {1, 0});
  EXPECT_EQ(layout.vectorBytes(rows), 16);
  EXPECT_EQ(layout.bankConflicts(rows, 16), 1);
}

TEST(SharedLayout, ATurnPartsWritersThatAreRowsApart) {
  // A transposition: threads hold 8 elements of a column, neighbouring lanes are 8 rows apart.
  const auto writers =
      LinearLayout::blocked({128, 64}, {1, 8}, {4, 8}, {8, 1}, {1, 0}).transpose({1, 0});
  const auto readers = LinearLayout::blocked({64, 128}, {1, 8}, {2, 16}, {8, 1}, {1, 0});
  const auto plain = SharedLayout::forOperand({64, 128}, 16, {1, 0});
  EXPECT_EQ(plain.bankConflicts(writers, 2), 8);
  const SharedLayout turned = plain.withSwizzleShift(3);
  EXPECT_EQ(turned.bankConflicts(writers, 2), 1);
  EXPECT_EQ(turned.bankConflicts(readers, 16), 1);
  EXPECT_EQ(turned.vectorBytes(readers), 16);
  EXPECT_NE(turned, plain);
  std::set<int64_t> offsets;
  for (int row = 0; row < 64; ++row)
    for (int col = 0; col < 128; ++col)
      offsets.insert(turned.offset(Coord{row, col}));
  EXPECT_EQ(offsets.size(), 64u * 128u);
  EXPECT_EQ(*offsets.rbegin(), turned.bytes() - 2);
}

TEST(SharedLayout, VectorsNeedConsecutiveRegistersAndElements) {
  const auto accumulator = LinearLayout::mma16816Accumulator({64, 64}, {4, 1});
  EXPECT_EQ(SharedLayout::forOperand({64, 64}, 16, {1, 0}).vectorBytes(accumulator), 4);
  EXPECT_EQ(SharedLayout::forOperand({64, 64}, 16, {0, 1}).vectorBytes(accumulator), 2);
  EXPECT_EQ(SharedLayout::scratch({64, 64}, 32, {1, 0}).vectorBytes(accumulator), 8);
  const auto wide = LinearLayout::blocked({64, 64}, {1, 64}, {32, 1}, {2, 1}, {1, 0});
  EXPECT_EQ(SharedLayout::forOperand({64, 64}, 16, {1, 0}).vectorBytes(wide), 16);
  const auto narrow = LinearLayout::blocked({64, 4}, {1, 4}, {32, 1}, {2, 1}, {1, 0});
  EXPECT_EQ(SharedLayout::scratch({64, 4}, 16, {1, 0}).vectorBytes(narrow), 8);
}

TEST(SharedLayout, VectorsAreMadeOfAnyRegisters) {
  // Pairs of rows as the lowest register bit, then eight columns: nibbles of bytes that were joined.
  const LinearLayout pairs({64, 64}, {{1, 0}, {0, 1}, {0, 2}, {0, 4}},
                           {{0, 8}, {0, 16}, {0, 32}, {2, 0}, {4, 0}}, {{8, 0}, {16, 0}, {32, 0}});
  const auto rows = SharedLayout::forOperand({64, 64}, 16, {1, 0});
  EXPECT_EQ(rows.vectorBytes(pairs), 2);
  EXPECT_EQ(rows.vectorBytes(inVectorOrder(pairs, rows)), 16);
  const auto columns = SharedLayout::forOperand({64, 64}, 16, {0, 1});
  EXPECT_EQ(inVectorOrder(pairs, columns), pairs);
  EXPECT_LT(sharedCycles(pairs, rows), sharedCycles(pairs, columns) / 4);
}

TEST(SharedLayout, AFragmentStoreThroughScratchIsFreeOfConflicts) {
  const auto accumulator = LinearLayout::mma16816Accumulator({64, 64}, {4, 1});
  EXPECT_EQ(SharedLayout::scratch({64, 64}, 16, {1, 0}).bankConflicts(accumulator, 4), 1);
}

TEST(SharedLayout, AdjacentRowsReadWithoutConflicts) {
  for (int64_t m : {64, 128, 256})
    for (int64_t k : {8, 32, 64}) {
      const auto a = LinearLayout::mmaOperandA({m, k}, {4, 1}, 32).withAdjacentRows(2);
      const SharedLayout shared({m, k}, 32, {0, 1}, 64);
      EXPECT_EQ(shared.vectorBytes(a), 8) << a.str();
      EXPECT_EQ(shared.bankConflicts(a, 8), 1) << a.str();
    }
}

TEST(SharedLayout, FourAdjacentRowsOfPackedBytesReadWithoutConflicts) {
  for (int warps : {4, 8})
    for (int64_t k : {32, 64, 128}) {
      const int64_t m = 32 * warps;
      const auto halves = LinearLayout::mmaOperandA({m, k}, {warps, 1}, 16).withAdjacentRows(4);
      EXPECT_TRUE(halves.coversShape());
      const auto packed = halves.reshape({m, k / 2, 2}).removeDim(2); // two of K per byte
      const SharedLayout shared({m, k / 2}, 8, {0, 1}, 128);
      const auto words = inVectorOrder(packed, shared);
      EXPECT_EQ(shared.vectorBytes(words), 4) << packed.str();
      EXPECT_EQ(shared.bankConflicts(words, 4), 1) << packed.str();
    }
}

TEST(SharedLayout, TransposingReadsAndWritesWithoutConflicts) {
  for (int64_t k : {32, 64, 128})
    for (int64_t n : {32, 64, 256})
      for (int warps : {4, 8}) {
        const auto reads = transposingLayout({k, n}, warps, 1),
                   writes = transposingLayout({k, n}, warps, 0);
        const auto from = SharedLayout::forOperand({k, n}, 32, {1, 0}),
                   to = SharedLayout::forOperand({k, n}, 32, {0, 1});
        EXPECT_EQ(from.vectorBytes(reads), 16) << reads.str();
        EXPECT_EQ(to.vectorBytes(writes), 16) << writes.str();
        EXPECT_EQ(from.bankConflicts(reads, 16), 1) << reads.str();
        EXPECT_EQ(to.bankConflicts(writes, 16), 1) << writes.str();
        EXPECT_TRUE(reads.sameThreads(writes));
        EXPECT_TRUE(reads.coversShape());
      }
}

/// Twice the cycles of instructions and lines without conflicts, and two more for the few of a small tile.
TEST(SharedLayout, TransposingBytesTakesFewCycles) {
  for (int64_t k : {32, 64, 128})
    for (int64_t n : {64, 128, 256})
      for (int warps : {4, 8}) {
        const auto reads = transposingBytes({k, n}, warps, 1),
                   writes = transposingBytes({k, n}, warps, 0);
        EXPECT_TRUE(reads.sameThreads(writes));
        EXPECT_TRUE(reads.coversShape());
        const auto from = SharedLayout::forOperand({k, n}, 8, {1, 0}),
                   to = SharedLayout::forOperand({k, n}, 8, {0, 1});
        const int64_t words = reads.numRegs() / 4; // a line each for a warp
        EXPECT_LE(sharedCycles(reads, from) + sharedCycles(writes, to), 2 * 4 * words + 2)
            << reads.str() << writes.str();
      }
}

TEST(SharedLayout, TransposingLayoutsOfSmallTilesCoverThem) {
  for (int64_t k : {8, 16})
    for (int64_t n : {8, 16, 64, 128}) {
      const auto reads = transposingLayout({k, n}, 8, 1);
      EXPECT_TRUE(reads.coversShape()) << reads.str();
      EXPECT_TRUE(reads.sameThreads(transposingLayout({k, n}, 8, 0)));
      const auto bytes = transposingBytes({k, n}, 8, 1);
      EXPECT_TRUE(bytes.coversShape()) << bytes.str();
      EXPECT_TRUE(bytes.sameThreads(transposingBytes({k, n}, 8, 0)));
    }
}

// The orders that LayoutChoiceFp64.cpp chooses; the last case has none that is right for both.
TEST(SharedLayout, OperandsOfFp64AreReadWithoutConflicts) {
  struct {
    bool leftAlongK, rightAlongK;
    Fp64Order order;
    int conflictsOfLeft;
  } const cases[] = {{true, true, {4, false}, 1},
                     {true, false, {2, true}, 1},
                     {false, false, {2, false}, 1},
                     {false, true, {4, false}, 2}};
  for (const auto &test : cases)
    for (int64_t k : {16, 32}) {
      const auto left = LinearLayout::mmaFp64A({64, k}, {2, 2}, test.order),
                 right = LinearLayout::mmaFp64B({k, 64}, {2, 2}, test.order);
      const auto ofLeft = SharedLayout::forOperand(
          {64, k}, 64, test.leftAlongK ? SharedLayout::Order{1, 0} : SharedLayout::Order{0, 1});
      const auto ofRight = SharedLayout::forOperand(
          {k, 64}, 64, test.rightAlongK ? SharedLayout::Order{0, 1} : SharedLayout::Order{1, 0});
      EXPECT_EQ(ofLeft.bankConflicts(left, ofLeft.vectorBytes(left)), test.conflictsOfLeft);
      EXPECT_EQ(ofLeft.vectorBytes(left), test.leftAlongK ? 16 : 8);
      EXPECT_EQ(ofRight.bankConflicts(right, ofRight.vectorBytes(right)), 1);
      EXPECT_EQ(ofRight.vectorBytes(right), test.rightAlongK ? 16 : 8);
    }
}
