//===- AnyWarpsTest.cpp - layouts in numbers of warps that are no powers of two ------------===//
#include "LayoutTesting.h"
#include "layout/TransposingLayout.h"
#include "llvm/ADT/STLExtras.h"

using namespace pantile;
using namespace pantile::layout_testing;

TEST(AnyWarps, EveryElementHasOneOwnerThatExists) {
  Random random(21);
  for (int round = 0; round < 150; ++round)
    expectSound(drawInWarps(random, drawPartedShape(random)));
}

TEST(AnyWarps, SoItIsAfterEachChangeOfShape) {
  Random random(22);
  for (int round = 0; round < 40; ++round) {
    const LinearLayout layout = drawInWarps(random, drawPartedShape(random));
    const int rank = layout.rank(), dim = draw(random, 0, rank - 1);
    llvm::SmallVector<int> order;
    for (int d = 0; d < rank; ++d)
      order.push_back((d + 1) % rank);
    for (const LinearLayout &changed :
         {layout.transpose(order), layout.expandDims(dim), layout.removeDim(dim),
          layout.appendPairDim(), layout.withoutRedundantRegs(),
          layout.withWarps(layout.numWarps())}) {
      expectSound(changed);
      EXPECT_EQ(changed.numWarps(), layout.numWarps());
    }
    Shape wide(layout.collapseDim(dim).shape());
    wide[dim] = draw(random, 1, 20);
    expectSound(layout.collapseDim(dim).broadcastTo(wide));
  }
}

TEST(AnyWarps, ConversionsBringEveryElement) {
  Random random(23);
  int compared = 0;
  for (int round = 0; round < 200; ++round) {
    const Shape shape = drawPartedShape(random);
    const LinearLayout from = drawInWarps(random, shape), other = drawInWarps(random, shape);
    expectConverts(from, from);
    const LinearLayout to(shape, other.reg(), other.lane(), from.warp(), from.numWarps());
    if (!to.coversShape())
      continue;
    expectConverts(from, to);
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(AnyWarps, OtherWarpsAreAnotherLayout) {
  const LinearLayout twelve({192}, {}, {{1}, {2}, {4}, {8}, {16}}, {{0}, {32}, {64}, {128}}, 12);
  const LinearLayout sixteen({192}, {}, twelve.lane(), twelve.warp());
  EXPECT_TRUE(twelve.coversShape());
  EXPECT_EQ(twelve.numWarps(), 12);
  EXPECT_EQ(sixteen.numWarps(), 16);
  EXPECT_NE(twelve, sixteen);
  EXPECT_FALSE(twelve.registerMoves(sixteen));
  EXPECT_FALSE(twelve.shufflePlan(sixteen));
  EXPECT_FALSE(twelve.isPartial(0)); // of warps that exist, none is outside
  EXPECT_TRUE(sixteen.isPartial(0));
}

TEST(AnyWarps, AbsentWarpsMayHoldNothingOfTheirOwn) {
  const Bases lanes = {{1}, {2}, {4}, {8}, {16}};
  EXPECT_FALSE(LinearLayout({128}, {}, lanes, {{32}, {64}}, 3).coversShape());
  EXPECT_TRUE(LinearLayout({96}, {}, lanes, {{32}, {64}}, 3).coversShape());
  EXPECT_FALSE(LinearLayout({97}, {}, lanes, {{32}, {64}}, 3).coversShape());
  EXPECT_TRUE(
      LinearLayout({96}, {}, lanes, {{64}, {32}}, 3).coversShape()); // as 1 + 2 is the absent one
  EXPECT_TRUE(LinearLayout({64}, {}, lanes, {{32}, {0}}, 3).coversShape());
}

TEST(AnyWarps, NamedLayoutsAreSound) {
  Random random(24);
  for (int64_t odd : {3, 5, 7})
    for (int64_t more : {1, 2, 4}) {
      const int64_t part = 16 << draw(random, 0, 1), n = 8 * draw(random, 1, 6), k = 16;
      const Shape alongM{odd * more, 2}, alongN{more, odd};
      for (const LinearLayout &layout :
           {LinearLayout::mma16816Accumulator({part * odd, n}, alongM),
            LinearLayout::mma16816Accumulator({n * 2, part * odd}, alongN),
            LinearLayout::mmaOperandA({part * odd, k}, alongM, 16),
            LinearLayout::mmaOperandA({64, k}, alongN, 16),
            LinearLayout::mmaOperandB({k, n}, alongM, 16),
            LinearLayout::mmaOperandB({k, part * odd}, alongN, 16),
            LinearLayout::mmaFp64Accumulator({part * odd, n}, alongM, {}),
            LinearLayout::wgmmaAccumulator({64 * odd, n}, {4 * odd, 1}, int(n)),
            LinearLayout::wgmmaAccumulator({64, 32 * odd}, {4, odd}, 32)})
        expectSound(layout);
      expectSound(transposingLayout({64, 32 * odd}, int(odd * more), 1));
      expectSound(transposingBytes({64, 32 * odd}, int(odd * more), 1));
    }
}

// Three warp groups of 64 rows each, as on two the second has its own.
TEST(AnyWarps, EachWarpGroupHasItsRows) {
  const auto layout = LinearLayout::wgmmaAccumulator({384, 64}, {12, 1}, 64);
  EXPECT_EQ(layout.numWarps(), 12);
  EXPECT_EQ(layout.numRegs(), 64); // two instructions of 64 x 64
  for (int group = 0; group < 3; ++group)
    for (int reg : {0, 32})
      EXPECT_EQ(layout.apply(reg, 0, 4 * group), (Coord{128 * group + 2 * reg, 0}));
  const auto columns = LinearLayout::wgmmaAccumulator({64, 192}, {4, 3}, 64);
  for (int group = 0; group < 3; ++group)
    EXPECT_EQ(columns.apply(0, 0, 4 * group), (Coord{0, 64 * group}));
}
