//===- AnyExtentTest.cpp - layouts of tiles whose extents are no powers of two -------------===//
#include "LayoutTesting.h"
#include "layout/SharedLayout.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace pantile;
using namespace pantile::layout_testing;

TEST(AnyExtent, EveryElementHasOneOwner) {
  Random random(7);
  for (int round = 0; round < 400; ++round) {
    const Shape shape = drawShape(random);
    expectSound(drawLayout(random, shape, draw(random, 0, 3)));
  }
}

TEST(AnyExtent, SoItIsAfterEachChangeOfShape) {
  Random random(8);
  for (int round = 0; round < 150; ++round) {
    const Shape shape = drawShape(random);
    const LinearLayout layout = drawLayout(random, shape, 2);
    const int rank = layout.rank(), dim = draw(random, 0, rank - 1);
    llvm::SmallVector<int> order;
    for (int d = 0; d < rank; ++d)
      order.push_back((d + 1) % rank);
    expectSound(layout.transpose(order));
    expectSound(layout.expandDims(dim));
    expectSound(layout.removeDim(dim));
    expectSound(layout.appendPairDim());
    Shape wide(layout.collapseDim(dim).shape());
    wide[dim] = draw(random, 1, 20);
    expectSound(layout.collapseDim(dim).broadcastTo(wide));
  }
}

TEST(AnyExtent, NamedLayoutsAreSound) {
  Random random(9);
  for (int round = 0; round < 12; ++round) {
    const int64_t m = draw(random, 1, 12) * 16, n = draw(random, 1, 24) * 8;
    const Shape warps{int64_t(1) << draw(random, 0, 2), int64_t(1) << draw(random, 0, 1)};
    expectSound(LinearLayout::mma16816Accumulator({m, n}, warps));
    expectSound(LinearLayout::mmaOperandA({m, 16 * draw(random, 1, 6)}, warps, 16));
    expectSound(LinearLayout::mmaOperandB({16 * draw(random, 1, 6), n}, warps, 16));
    expectSound(LinearLayout::wgmmaAccumulator({64 * draw(random, 1, 3), n}, {4, 1}, int(n)));
  }
}

// An instruction of n columns has n / 2 registers side by side, and all of them are present.
TEST(AnyExtent, RegistersOfOneWgmmaAreNeighbours) {
  for (int n = 8; n <= 256; n += 8) {
    const auto layout = LinearLayout::wgmmaAccumulator({192, n}, {4, 1}, n);
    int stride = 1;
    while (stride < n / 2)
      stride *= 2;
    ASSERT_EQ(layout.numRegs(), 4 * stride);
    ASSERT_EQ(layout.numPresentRegs(), 3 * n / 2);
    for (int i = 0; i < n / 2; ++i)
      for (int block = 0; block < 3; ++block)
        ASSERT_EQ(layout.apply(block * stride + i, 9, 2),
                  (Coord{block * 64 + 32 + 2 + (i & 2 ? 8 : 0), i / 4 * 8 + 2 + (i & 1)}));
  }
}

// With runs, instructions and warp groups interleave: column c of an instruction is column
// c % run of its run number c / run, and between two of its runs are those of the others.
TEST(AnyExtent, WgmmasTakeTurnsAtRunsOfColumns) {
  for (int groups : {1, 2, 4})
    for (int repeats : {1, 2})
      for (int run : {8, 16, 32, 64})
        for (int runs : {1, 3, 5, 6, 11}) {
          const int n = run * runs, turns = groups * repeats, columns = n * turns;
          const auto layout = LinearLayout::wgmmaAccumulator({64, columns}, {4, groups}, n, run);
          expectSound(layout);
          const int stride = int(llvm::PowerOf2Ceil(n / 2));
          ASSERT_EQ(layout.numRegs(), repeats * stride);
          for (int group = 0; group < groups; ++group)
            for (int repeat = 0; repeat < repeats; ++repeat)
              for (int i = 0; i < n / 2; ++i) {
                const int column = i / 4 * 8 + (i & 1), turn = repeat * groups + group;
                ASSERT_TRUE(layout.isPresent(repeat * stride + i));
                ASSERT_EQ(
                    layout.apply(repeat * stride + i, 0, 4 * group),
                    (Coord{i & 2 ? 8 : 0, column / run * run * turns + turn * run + column % run}));
              }
        }
}

TEST(AnyExtent, ConversionsBringEveryElement) {
  Random random(10);
  for (int round = 0; round < 150; ++round) {
    const Shape shape = drawShape(random);
    const LinearLayout from = drawLayout(random, shape, 1), to = drawLayout(random, shape, 1);
    expectConverts(from, to);
    LinearLayout shuffled(shape, to.reg(), to.lane(), from.warp());
    if (shuffled.coversShape())
      expectConverts(from, shuffled);
    expectConverts(from, from);
  }
}

TEST(AnyExtent, ReshapesInPlaceKeepTheOrderOfElements) {
  Random random(11);
  const std::vector<std::pair<Shape, Shape>> cuts = {
      {{96}, {3, 32}},        {{96}, {6, 16}}, {{12, 8}, {6, 16}}, {{5, 64}, {5, 8, 8}},
      {{48, 64}, {48, 8, 8}}, {{1, 96}, {96}}, {{7, 1}, {7}},      {{64, 20}, {4, 16, 20}}};
  for (const auto &[first, second] : cuts)
    for (const auto &[from, to] : {std::pair(first, second), std::pair(second, first)}) {
      ASSERT_TRUE(LinearLayout::reshapesInPlace(from, to));
      const LinearLayout layout = drawLayout(random, from, 2), cut = layout.reshape(to);
      expectSound(cut);
      auto number = [](const Shape &shape, const Coord &coord) {
        int64_t flat = 0;
        for (auto [extent, c] : llvm::zip(shape, coord))
          flat = flat * extent + c;
        return flat;
      };
      for (int reg = 0; reg < layout.numRegs(); ++reg)
        for (int lane = 0; lane < 32; ++lane)
          if (const Coord coord = layout.apply(reg, lane, 0); isInside(from, coord)) {
            ASSERT_EQ(number(to, cut.apply(reg, lane, 0)), number(from, coord));
          }
    }
  for (const auto &[from, to] :
       {std::pair(Shape{96}, Shape{2, 48}), std::pair(Shape{6}, Shape{2, 3}),
        std::pair(Shape{5, 6}, Shape{6, 5})})
    EXPECT_FALSE(LinearLayout::reshapesInPlace(from, to));
}

// Panels take the rows that there are, up to whole patterns of the swizzle.
TEST(AnyExtent, PanelsFollowEachOtherWithoutAGap) {
  for (int64_t rows : {8, 24, 40, 80, 176, 200})
    for (int64_t columns : {64, 128, 192, 320}) {
      const auto shared = SharedLayout::forOperand({rows, columns}, 16, {1, 0});
      EXPECT_EQ(shared.bytes(), rows * columns * 2);
      std::set<int64_t> places;
      const Shape shape{rows, columns};
      forEachElement(shape, [&](const Coord &at) { places.insert(shared.offset(at)); });
      EXPECT_EQ(int64_t(places.size()), rows * columns);
      EXPECT_EQ(*places.rbegin(), rows * columns * 2 - 2);
    }
}

TEST(AnyExtent, LinearOffsetsArePlacedInParts) {
  Random random(12);
  for (int round = 0; round < 2000; ++round) {
    const Shape shape{draw(random, 1, 300), 16 * draw(random, 1, 24)};
    const auto shared = SharedLayout::forOperand(shape, 16, {1, 0});
    auto any = [&] {
      return Coord{draw(random, 0, int(shape[0]) - 1), draw(random, 0, int(shape[1]) - 1)};
    };
    const Coord a = any(), b = any();
    const int64_t first = shared.linearOffset(a), second = shared.linearOffset(b);
    EXPECT_EQ(shared.linearOffset({a[0] ^ b[0], a[1] ^ b[1]}), first ^ second);
    const int64_t mask = random();
    EXPECT_EQ(shared.place(first & mask) + shared.place(first & ~mask), shared.offset(a));
  }
}

TEST(AnyExtent, VectorsDivideTheExtent) {
  for (int64_t extent : {6, 12, 40, 100, 97}) {
    const auto layout = LinearLayout::blocked({4, extent}, {1, 8}, {1, 32}, {1, 1}, {1, 0});
    EXPECT_EQ(layout.contiguousRegs(1), std::min<int64_t>(extent & -extent, 8));
  }
}

TEST(AnyExtent, SharedOffsetsAreLinearAndApart) {
  Random random(12);
  for (int round = 0; round < 400; ++round) {
    Shape shape = drawShape(random);
    for (int64_t &extent : shape)
      extent *= draw(random, 1, 3) == 1 ? 8 : 1;
    SharedLayout::Order order;
    for (size_t d = 0; d < shape.size(); ++d)
      order.insert(order.begin() + draw(random, 0, static_cast<int>(d)), static_cast<int>(d));
    const int bits = 8 << draw(random, 0, 2);
    const auto shared = SharedLayout::forOperand(shape, bits, order);
    std::set<int64_t> offsets;
    forEachElement(shape, [&](const Coord &coord) {
      const int64_t offset = shared.offset(coord);
      ASSERT_LE(offset + bits / 8, shared.bytes()) << shared.str();
      ASSERT_TRUE(offsets.insert(offset).second) << shared.str();
      Coord other(coord);
      for (auto [c, extent] : llvm::zip(other, shape))
        c = draw(random, 0, static_cast<int>(extent) - 1);
      Coord both(coord);
      for (auto [c, o] : llvm::zip(both, other))
        c ^= o;
      ASSERT_EQ(shared.linearOffset(both), shared.linearOffset(coord) ^ shared.linearOffset(other))
          << shared.str();
    });
  }
}
