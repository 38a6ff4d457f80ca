//===- LinearLayoutTest.cpp - fragments against the manual, algebra by brute force ===//
#include "layout/LinearLayout.h"
#include "layout/HalfExchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace pantile;
using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

namespace {

/// Every element has a holder, and how many holders each has is the same for all.
void expectEvenCover(const LinearLayout &layout) {
  std::map<int64_t, int> holders;
  for (int warp = 0; warp < layout.numWarps(); ++warp)
    for (int lane = 0; lane < layout.numLanes(); ++lane)
      for (int reg = 0; reg < layout.numRegs(); ++reg)
        ++holders[layout.applyFlat(reg, lane, warp)];
  int64_t elements = 1;
  for (int64_t extent : layout.shape())
    elements *= extent;
  ASSERT_EQ(int64_t(holders.size()), elements) << layout.str();
  for (auto [element, count] : holders)
    ASSERT_EQ(count, holders.begin()->second) << "element " << element << " of " << layout.str();
  EXPECT_TRUE(layout.coversShape()) << layout.str();
}

/// A random layout that covers `shape`: random invertible mixing of a blocked one.
LinearLayout randomLayout(std::mt19937 &random, LinearLayout::Shape shape, int warps) {
  std::vector<std::pair<int, int>> bits;
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t step = 1; step < shape[d]; step *= 2)
      bits.push_back({int(d), int(step)});
  std::shuffle(bits.begin(), bits.end(), random);
  const size_t laneBits = 5, warpBits = std::countr_zero(unsigned(warps));
  Bases reg, lane, warp;
  for (auto [dim, step] : bits) {
    Coord basis(shape.size(), 0);
    basis[dim] = step;
    auto &target = lane.size() < laneBits ? lane : warp.size() < warpBits ? warp : reg;
    target.push_back(basis);
  }
  lane.resize(laneBits, Coord(shape.size(), 0));
  warp.resize(warpBits, Coord(shape.size(), 0));
  std::shuffle(lane.begin(), lane.end(), random);
  return LinearLayout(shape, reg, lane, warp);
}

} // namespace

TEST(LinearLayout, BasesOfATemporaryOutliveIt) {
  const auto blocked = [] { return LinearLayout({4}, {{1}}, {{2}}, {}); };
  std::vector<int> seen;
  for (const auto &basis : blocked().reg())
    seen.push_back(basis[0]);
  for (const auto &basis : blocked().lane())
    seen.push_back(basis[0]);
  for (int64_t extent : blocked().shape())
    seen.push_back(int(extent));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 4}));
  static_assert(!std::is_reference_v<decltype(blocked().warp())>);
}

TEST(LinearLayout, AccumulatorIsThatOfThePtxManual) {
  const auto layout = LinearLayout::mma16816Accumulator({16, 8}, {1, 1});
  ASSERT_EQ(layout.numRegs(), 4);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + (i < 2 ? 0 : 8), col = lane % 4 * 2 + (i & 1);
      EXPECT_EQ(layout.apply(i, lane, 0), (Coord{row, col}));
    }
}

TEST(LinearLayout, OperandAOf16BitsIsThatOfThePtxManual) {
  const auto layout = LinearLayout::mmaOperandA({16, 16}, {1, 1}, 16);
  ASSERT_EQ(layout.numRegs(), 8);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 8; ++i) {
      const int row = lane / 4 + ((i < 2 || (i >= 4 && i < 6)) ? 0 : 8);
      const int col = lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
      EXPECT_EQ(layout.apply(i, lane, 0), (Coord{row, col}));
    }
}

TEST(LinearLayout, OperandBOf16BitsIsThatOfThePtxManual) {
  const auto layout = LinearLayout::mmaOperandB({16, 8}, {1, 1}, 16);
  ASSERT_EQ(layout.numRegs(), 4);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), col = lane / 4;
      EXPECT_EQ(layout.apply(i, lane, 0), (Coord{row, col}));
    }
}

// An MMA adds products of what A and B have in one position of K, and puts them where the
// accumulator has the row and the column.
TEST(LinearLayout, FragmentsInAnyOrderBelongTogether) {
  const LinearLayout::Shape warps{2, 2};
  const auto plainA = LinearLayout::mmaOperandA({64, 64}, warps, 16),
             plainB = LinearLayout::mmaOperandB({64, 64}, warps, 16),
             plainC = LinearLayout::mma16816Accumulator({64, 64}, warps);
  for (int adjacentK : {2, 4, 8, 16})
    for (int adjacentN : {1, 2, 4})
      for (bool rowsApart : {false, true}) {
        const FragmentOrder order{adjacentK, adjacentN, rowsApart};
        const auto a = LinearLayout::mmaOperandA({64, 64}, warps, 16, order),
                   b = LinearLayout::mmaOperandB({64, 64}, warps, 16, order),
                   c = LinearLayout::mma16816Accumulator({64, 64}, warps, order);
        for (const auto &layout : {a, b, c})
          expectEvenCover(layout);
        EXPECT_EQ(b.regsAlong(0).contiguousRegs(0), adjacentK);
        EXPECT_EQ(b.regsAlong(1).contiguousRegs(1), adjacentN);
        // Register by register of a fragment, K, rows and columns of the plain one are renamed.
        std::map<int, int> rows, columns;
        for (int warp = 0; warp < 4; ++warp)
          for (int lane = 0; lane < 32; ++lane) {
            for (int i = 0; i < 8; ++i) {
              const Coord was = plainA.apply(i, lane, warp), is = a.apply(i, lane, warp);
              EXPECT_EQ(rows.try_emplace(was[0], is[0]).first->second, is[0]);
            }
            for (int i = 0; i < 4; ++i) {
              const Coord wasB = plainB.apply(i, lane, warp), isB = b.apply(i, lane, warp);
              EXPECT_EQ(columns.try_emplace(wasB[1], isB[1]).first->second, isB[1]);
              EXPECT_EQ(a.apply(i % 2 + i / 2 * 4, lane % 4, 0)[1], b.apply(i, lane % 4, 0)[0]);
              const Coord wasC = plainC.apply(i, lane, warp), isC = c.apply(i, lane, warp);
              EXPECT_EQ(rows.at(wasC[0]), isC[0]);
            }
          }
        std::set<int> ofLanes;
        for (int lane = 0; lane < 32; lane += 4)
          ofLanes.insert(b.apply(0, lane, 0)[1]);
        for (int lane = 0; lane < 4; ++lane)
          for (int i : {0, 1})
            EXPECT_TRUE(ofLanes.erase(c.apply(i, lane, 0)[1]));
      }
}

TEST(LinearLayout, OperandsOfTf32AreThoseOfThePtxManual) {
  const auto a = LinearLayout::mmaOperandA({16, 8}, {1, 1}, 32);
  const auto b = LinearLayout::mmaOperandB({8, 8}, {1, 1}, 32);
  ASSERT_EQ(a.numRegs(), 4);
  ASSERT_EQ(b.numRegs(), 2);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(a.apply(i, lane, 0),
                (Coord{lane / 4 + (i == 0 || i == 2 ? 0 : 8), lane % 4 + (i < 2 ? 0 : 4)}));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(b.apply(i, lane, 0), (Coord{lane % 4 + i * 4, lane / 4}));
  }
}

TEST(LinearLayout, OperandsOf8BitsAreThoseOfThePtxManual) {
  const auto a = LinearLayout::mmaOperandA({16, 32}, {1, 1}, 8);
  const auto b = LinearLayout::mmaOperandB({32, 8}, {1, 1}, 8);
  ASSERT_EQ(a.numRegs(), 16);
  ASSERT_EQ(b.numRegs(), 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 16; ++i) {
      const int row = lane / 4 + (i < 4 || (i >= 8 && i < 12) ? 0 : 8);
      const int col = lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16);
      EXPECT_EQ(a.apply(i, lane, 0), (Coord{row, col}));
    }
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(b.apply(i, lane, 0), (Coord{lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16), lane / 4}));
  }
}

TEST(LinearLayout, OperandsOfFp64AreThoseOfThePtxManual) {
  const auto a = LinearLayout::mmaFp64A({16, 16}, {1, 1}, {});
  const auto b = LinearLayout::mmaFp64B({16, 8}, {1, 1}, {});
  const auto c = LinearLayout::mmaFp64Accumulator({16, 8}, {1, 1}, {});
  ASSERT_EQ(a.numRegs(), 8);
  ASSERT_EQ(b.numRegs(), 4);
  EXPECT_EQ(c, LinearLayout::mma16816Accumulator({16, 8}, {1, 1}));
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(a.apply(i, lane, 0), (Coord{lane / 4, lane % 4 + 4 * i}));
      EXPECT_EQ(a.apply(i + 4, lane, 0), (Coord{lane / 4 + 8, lane % 4 + 4 * i}));
      EXPECT_EQ(b.apply(i, lane, 0), (Coord{lane % 4 + 4 * i, lane / 4}));
    }
}

// Whatever the order: A and B hold the same K in each lane, A and the accumulator the same rows.
TEST(LinearLayout, OperandsOfFp64AgreeOnRowsAndK) {
  for (int k : {4, 8, 16, 32})
    for (int adjacent = 1; adjacent <= std::min(k / 4, 4); adjacent *= 2)
      for (bool apart : {false, true}) {
        const Fp64Order order{adjacent, apart};
        const auto a = LinearLayout::mmaFp64A({32, k}, {2, 2}, order);
        const auto b = LinearLayout::mmaFp64B({k, 32}, {2, 2}, order);
        const auto c = LinearLayout::mmaFp64Accumulator({32, 32}, {2, 2}, order);
        for (const auto &layout : {a, b, c})
          EXPECT_TRUE(layout.coversShape());
        EXPECT_GE(a.contiguousRegs(1), adjacent);
        EXPECT_GE(b.contiguousRegs(0), adjacent);
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < std::min(k, 16) / 4; ++i) {
            EXPECT_EQ(a.apply(i, lane, 0)[1], b.apply(i, lane, 0)[0]);
            EXPECT_EQ(a.apply(i, lane, 0)[0], c.apply(0, lane, 0)[0]);
          }
      }
}

TEST(LinearLayout, WgmmaAccumulatorIsThatOfThePtxManual) {
  const auto layout = LinearLayout::wgmmaAccumulator({128, 256}, {8, 1}, 256);
  ASSERT_EQ(layout.numRegs(), 128);
  for (int warp = 0; warp < 8; ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 128; ++i) {
        const int row = warp % 4 * 16 + lane / 4 + (i & 2 ? 8 : 0) + warp / 4 * 64;
        const int col = i / 4 * 8 + lane % 4 * 2 + (i & 1);
        EXPECT_EQ(layout.apply(i, lane, warp), (Coord{row, col}));
      }
}

TEST(LinearLayout, WgmmaRepeatsAlongNThenM) {
  const auto layout = LinearLayout::wgmmaAccumulator({256, 128}, {4, 2}, 32);
  ASSERT_EQ(layout.numRegs(), 128);
  const auto inside = LinearLayout::wgmmaAccumulator({64, 32}, {4, 1}, 32);
  for (int rep = 0; rep < 8; ++rep)
    for (int i = 0; i < 16; ++i) {
      Coord expected = inside.apply(i, 9, 2);
      expected[0] += rep / 2 * 64;
      expected[1] += rep % 2 * 64 + 32; // the second warp group owns the second 32 columns
      EXPECT_EQ(layout.apply(rep * 16 + i, 9, 2 + 4), expected);
    }
}

TEST(LinearLayout, FragmentsCoverEveryShapeEvenly) {
  for (int64_t m : {16, 32, 64, 128})
    for (int64_t n : {8, 16, 64, 256})
      for (LinearLayout::Shape warps :
           {LinearLayout::Shape{1, 1}, {4, 1}, {2, 2}, {2, 4}, {8, 1}}) {
        expectEvenCover(LinearLayout::mma16816Accumulator({m, n}, warps));
        for (int bits : {8, 16, 32}) {
          expectEvenCover(LinearLayout::mmaOperandA({m, n}, warps, bits));
          expectEvenCover(LinearLayout::mmaOperandB({m, n}, warps, bits));
        }
        if (warps[0] % 4 == 0)
          expectEvenCover(
              LinearLayout::wgmmaAccumulator({m, n}, warps, int(std::min<int64_t>(n, 64))));
      }
}

// The thread that computes C[m, n] must hold row m of A and column n of B, in fragment order.
TEST(LinearLayout, OperandsFollowTheAccumulator) {
  const LinearLayout::Shape warps{2, 2};
  const auto c = LinearLayout::mma16816Accumulator({64, 32}, warps);
  const auto a = LinearLayout::mmaOperandA({64, 32}, warps, 16);
  const auto b = LinearLayout::mmaOperandB({32, 32}, warps, 16);
  for (int warp = 0; warp < 4; ++warp) {
    std::set<int> rows, cols, rowsOfA, colsOfB;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < c.numRegs(); ++i) {
        rows.insert(c.apply(i, lane, warp)[0]);
        cols.insert(c.apply(i, lane, warp)[1]);
      }
      for (int i = 0; i < a.numRegs(); ++i)
        rowsOfA.insert(a.apply(i, lane, warp)[0]);
      for (int i = 0; i < b.numRegs(); ++i)
        colsOfB.insert(b.apply(i, lane, warp)[1]);
    }
    EXPECT_EQ(rows, rowsOfA);
    EXPECT_EQ(cols, colsOfB);
  }
}

TEST(LinearLayout, BlockedCoversAndRepeats) {
  const auto layout = LinearLayout::blocked({128, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0});
  expectEvenCover(layout);
  EXPECT_EQ(layout.numRegs(), 64);
  EXPECT_EQ(layout.contiguousRegs(1), 8);
  EXPECT_EQ(layout.contiguousRegs(0), 1);
  EXPECT_EQ(layout.fastestDim(), 1);
  EXPECT_EQ(layout.apply(3, 9, 2), (Coord{9, 11})); // lane 9: second row, second vector
  EXPECT_FALSE(layout.freeBits().any());
}

TEST(LinearLayout, ASmallTileIsReplicated) {
  const auto layout = LinearLayout::blocked({16}, {4}, {32}, {4}, {0});
  expectEvenCover(layout);
  EXPECT_EQ(layout.numRegs(), 4);
  EXPECT_EQ(layout.freeBits().lane, 0b11100u);
  EXPECT_EQ(layout.freeBits().warp, 0b11u);
  for (int element = 0; element < 16; ++element) {
    const auto owner = layout.ownerOf(Coord{element});
    EXPECT_EQ(owner, (LinearLayout::Owner{element % 4, element / 4, 0}));
  }
}

TEST(LinearLayout, OwnersHoldWhatTheyOwn) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const auto layout = randomLayout(random, {32, 16, 4}, 4);
    expectEvenCover(layout);
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 16; ++j) {
        const auto owner = layout.ownerOf(Coord{i, j, 3});
        EXPECT_EQ(layout.apply(owner.reg, owner.lane, owner.warp), (Coord{i, j, 3}));
        EXPECT_EQ(layout.registerOf(Coord{i, j, 3}, owner.lane, owner.warp), owner.reg);
      }
  }
}

TEST(LinearLayout, RegisterOfRefusesElementsOfOtherThreads) {
  const auto layout = LinearLayout::blocked({128}, {1}, {32}, {4}, {0});
  EXPECT_EQ(layout.registerOf(Coord{37}, 5, 1), 0);
  EXPECT_EQ(layout.registerOf(Coord{37}, 6, 1), std::nullopt);
}

TEST(LinearLayout, SliceKeepsTheOtherCoordinateOfEveryThread) {
  const auto parent = LinearLayout::mma16816Accumulator({64, 64}, {2, 2});
  const auto rows = parent.removeDim(1);
  EXPECT_EQ(rows.shape(), (LinearLayout::Shape{64}));
  EXPECT_EQ(rows.numRegs(), 4); // 8 rows below, and the repetition every 32 rows
  EXPECT_EQ(rows.freeBits().lane, 0b00011u);
  expectEvenCover(rows);
  for (int warp = 0; warp < 4; ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < parent.numRegs(); ++reg) {
        const Coord row{parent.apply(reg, lane, warp)[0]};
        EXPECT_TRUE(rows.registerOf(row, lane, warp)) << "a thread lost its own row";
      }
}

TEST(LinearLayout, ShapeChangesMoveElementsAsTheyShould) {
  std::mt19937 random(2);
  for (int round = 0; round < 10; ++round) {
    const auto layout = randomLayout(random, {16, 8, 4}, 2);
    const auto transposed = layout.transpose({2, 0, 1});
    const auto flat = layout.reshape({512});
    const auto wide = layout.expandDims(1).broadcastTo({16, 4, 8, 4});
    const auto paired = layout.appendPairDim();
    EXPECT_EQ(flat.reshape({16, 8, 4}), layout);
    expectEvenCover(wide);
    expectEvenCover(paired);
    EXPECT_EQ(wide.collapseDim(1), layout.expandDims(1));
    for (int warp = 0; warp < 2; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < layout.numRegs(); ++reg) {
          const Coord c = layout.apply(reg, lane, warp);
          EXPECT_EQ(transposed.apply(reg, lane, warp), (Coord{c[2], c[0], c[1]}));
          EXPECT_EQ(flat.apply(reg, lane, warp), (Coord{(c[0] * 8 + c[1]) * 4 + c[2]}));
          EXPECT_EQ(wide.apply(reg, lane, warp), (Coord{c[0], 0, c[1], c[2]}));
          EXPECT_EQ(paired.apply(reg * 2 + 1, lane, warp), (Coord{c[0], c[1], c[2], 1}));
        }
  }
}

TEST(LinearLayout, TheAccumulatorOfOneProductIsTheOperandOfTheNext) {
  const auto from = LinearLayout::wgmmaAccumulator({64, 64}, {4, 1}, 64);
  const auto to = LinearLayout::mmaOperandA({64, 64}, {4, 1}, 16);
  const auto moves = from.registerMoves(to);
  ASSERT_TRUE(moves);
  for (int warp = 0; warp < 4; ++warp)
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < to.numRegs(); ++reg)
        EXPECT_EQ(from.apply((*moves)[reg], lane, warp), to.apply(reg, lane, warp));
}

TEST(LinearLayout, RegisterMovesNeedTheSameThreads) {
  const auto rows = LinearLayout::blocked({64, 64}, {1, 4}, {2, 16}, {4, 1}, {1, 0});
  const auto cols = LinearLayout::blocked({64, 64}, {4, 1}, {16, 2}, {1, 4}, {0, 1});
  EXPECT_TRUE(rows.sameThreads(rows));
  EXPECT_FALSE(rows.sameThreads(cols));
  EXPECT_FALSE(rows.shufflePlan(cols)) << "elements change warps";
}

TEST(LinearLayout, ShufflePlansBringEveryElement) {
  std::mt19937 random(3);
  int plans = 0;
  for (int round = 0; round < 200; ++round) {
    const auto from = randomLayout(random, {16, 16}, 1);
    const auto to = randomLayout(random, {16, 16}, 1);
    const auto plan = from.shufflePlan(to);
    ASSERT_TRUE(plan) << "one warp holds everything";
    ++plans;
    for (int lane = 0; lane < 32; ++lane) {
      int regOfLane = 0, laneOfLane = 0;
      for (int bit = 0; bit < 5; ++bit)
        if (lane >> bit & 1) {
          regOfLane ^= plan->srcRegOfLane[bit];
          laneOfLane ^= plan->srcLaneOfLane[bit];
        }
      EXPECT_TRUE(llvm::is_contained(plan->regChoices, regOfLane));
      for (int reg = 0; reg < to.numRegs(); ++reg)
        EXPECT_EQ(from.apply(plan->srcReg[reg] ^ regOfLane, plan->srcLane[reg] ^ laneOfLane, 0),
                  to.apply(reg, lane, 0));
    }
  }
  EXPECT_EQ(plans, 200);
}

/// The element that lane `lane` has for register `reg` of `to` after both rounds of an exchange.
int64_t exchangedElement(const LinearLayout &from, const HalfExchange &plan, int lane,
                         const HalfExchange::Words &words, int at, int perHalf) {
  const int word = at / (2 * perHalf), half = at / perHalf % 2;
  const int round = half ^ (lane >> plan.takingHalf & 1);
  int source = 0;
  for (auto [sends, takes] : llvm::enumerate(plan.laneBits))
    source |= (lane >> takes & 1) << sends;
  source ^= round << plan.sendingHalf;
  const int sent = round ^ (source >> plan.sendingHalf & 1);
  return from.applyFlat(words.from[(2 * word + sent) * perHalf + at % perHalf], source, 0);
}

TEST(LinearLayout, HalvesOfWordsReachTheLeftOperandOf8BitElements) {
  for (LinearLayout::Shape shape : {LinearLayout::Shape{64, 32}, {64, 128}, {128, 64}, {192, 64}}) {
    const auto from = LinearLayout::wgmmaAccumulator(shape, {shape[0] / 16, 1}, shape[1]);
    const auto to = LinearLayout::mmaOperandA(shape, {shape[0] / 16, 1}, 8);
    const auto plan = halfExchange(from, to, 8);
    ASSERT_TRUE(plan) << from.str() << " to " << to.str();
    std::vector<int> times(to.numRegs());
    for (const HalfExchange::Words &words : plan->words)
      for (int at = 0; at < 8; ++at) {
        ++times[words.to[at]];
        for (int lane = 0; lane < 32; ++lane)
          ASSERT_EQ(exchangedElement(from, *plan, lane, words, at, 2),
                    to.applyFlat(words.to[at], lane, 0));
      }
    EXPECT_TRUE(llvm::all_of(times, [](int count) { return count == 1; }));
  }
}

TEST(LinearLayout, HalvesOfWordsAreExchangedOnlyBetweenTwoLanes) {
  const LinearLayout::Shape shape{64, 64};
  const auto accumulator = LinearLayout::wgmmaAccumulator(shape, {4, 1}, 64);
  EXPECT_FALSE(halfExchange(accumulator, accumulator, 8)) << "nothing to exchange";
  EXPECT_FALSE(halfExchange(accumulator, LinearLayout::mmaOperandA(shape, {4, 1}, 16), 8));
  EXPECT_FALSE(halfExchange(accumulator, LinearLayout::mmaOperandA(shape, {4, 2}, 8), 8))
      << "other warps";
  EXPECT_FALSE(
      halfExchange(accumulator, LinearLayout::blocked(shape, {1, 16}, {8, 4}, {4, 1}, {1, 0}), 8))
      << "four lanes have a part of each word";
}

TEST(LinearLayout, AReplicatedSliceReachesAnotherLaneByShuffle) {
  const auto from = LinearLayout::mma16816Accumulator({16, 8}, {1, 1}).removeDim(1);
  const auto to = LinearLayout::blocked({16}, {1}, {32}, {1}, {0});
  const auto plan = from.shufflePlan(to);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->regChoices.size(), 2u); // rows 0-7 and 8-15 are different registers
  EXPECT_EQ(plan->numShuffles(), 2);
}

TEST(LinearLayout, TextAndHashTellLayoutsApart) {
  const auto a = LinearLayout::mma16816Accumulator({16, 8}, {1, 1});
  const auto b = LinearLayout::mma16816Accumulator({16, 8}, {2, 1});
  EXPECT_EQ(a.str(), "shape=[16,8] reg=[[0,1],[8,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[]");
  EXPECT_NE(a, b);
  EXPECT_NE(hash_value(a), hash_value(b));
  EXPECT_EQ(hash_value(a), hash_value(LinearLayout(a)));
}
