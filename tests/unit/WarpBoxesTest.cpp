//===- WarpBoxesTest.cpp - TMA finds every element where it looks for it -------===//
#include "layout/WarpBoxes.h"
#include "layout/BankExchange.h"
#include "layout/MatrixAccess.h"

#include <gtest/gtest.h>
#include <map>

using namespace pantile;

namespace {

using Coord = LinearLayout::Coord;

/// Byte `at` of a panel row by row, as TMA permutes chunks of 16 bytes.
int64_t turned(int64_t at, int span) { return at ^ ((at >> 7 & (span / 16 - 1)) << 4); }

/// Writes every piece of every warp to memory and copies box by box what is found there.
void expectWholeTile(const LinearLayout &layout, int bits, int fast) {
  const auto boxes = warpBoxes(layout, bits, fast);
  ASSERT_TRUE(boxes) << layout.str() << " along " << fast;
  const int bytes = bits / 8, span = boxes->shared.swizzle();
  ASSERT_EQ(boxes->shared.panelBytes() % (span * 8), 0) << "panels begin where a swizzle does";
  ASSERT_LE(boxes->fastSize() * bytes, span);
  std::map<Coord, int64_t> written;
  for (int warp = 0; warp < layout.numWarps(); ++warp)
    for (size_t piece = 0; piece < boxes->regs.size(); ++piece) {
      std::map<int64_t, int64_t> memory;
      for (int lane = 0; lane < 32; ++lane)
        for (size_t reg = 0; reg < boxes->regs[piece].size(); ++reg)
          memory[boxes->shared.offset(boxes->layout.apply(reg, lane, 0))] =
              layout.applyFlat(boxes->regs[piece][reg], lane, warp);
      const Coord ofWarp = layout.apply(0, 0, warp);
      for (int64_t panel = 0; panel < boxes->shared.panels(); ++panel)
        for (int64_t slow = 0; slow < boxes->slowSize(); ++slow)
          for (int64_t at = 0; at < boxes->fastSize(); ++at) {
            const int64_t plain =
                panel * boxes->shared.panelBytes() + slow * boxes->shared.rowBytes() + at * bytes;
            Coord element(2, 0);
            element[fast] = ofWarp[fast] + boxes->starts[piece][fast] +
                            static_cast<int32_t>(panel * boxes->fastSize() + at);
            element[1 - fast] =
                ofWarp[1 - fast] + boxes->starts[piece][1 - fast] + static_cast<int32_t>(slow);
            const auto found = memory.find(turned(plain, span));
            ASSERT_NE(found, memory.end());
            ASSERT_TRUE(written.emplace(element, found->second).second) << "written twice";
          }
    }
  ASSERT_EQ(int64_t(written.size()), layout.shape()[0] * layout.shape()[1]);
  for (const auto &[element, value] : written)
    ASSERT_EQ(value, element[0] * layout.shape()[1] + element[1]) << layout.str();
}

TEST(WarpBoxes, HoldAccumulatorsOfWarpGroups) {
  for (int64_t m : {64, 128, 256})
    for (int64_t n : {32, 64, 128, 256})
      for (int64_t warps : {4, 8})
        for (int bits : {16, 32})
          if (m * n / warps <= 4096 && m >= warps * 16)
            expectWholeTile(LinearLayout::wgmmaAccumulator({m, n}, {warps, 1}, int(n)), bits, 1);
}

TEST(WarpBoxes, HoldThemByColumns) {
  for (int64_t n : {64, 128, 256})
    for (int bits : {16, 32})
      expectWholeTile(LinearLayout::wgmmaAccumulator({128, n}, {8, 1}, int(n)), bits, 0);
}

TEST(WarpBoxes, HoldAdjacentRowsInVectors) {
  for (int64_t m : {64, 128, 256})
    for (int64_t warps : {4, 8})
      if (m >= warps * 16)
        for (int fast : {0, 1}) {
          const auto layout =
              LinearLayout::wgmmaAccumulator({m, 128}, {warps, 1}, 128).withAdjacentRows(2);
          expectWholeTile(layout, 32, fast);
          const auto boxes = warpBoxes(layout, 32, fast);
          EXPECT_EQ(boxes->shared.vectorBytes(boxes->layout), 8) << layout.str();
        }
}

TEST(WarpBoxes, HoldAccumulatorsOfWarps) {
  for (int64_t warps : {1, 2, 4, 8})
    for (int bits : {16, 32})
      expectWholeTile(LinearLayout::mma16816Accumulator({128, 128}, {warps, 1}), bits, 1);
}

TEST(WarpBoxes, HoldColumnsOfTwoWarpGroups) {
  expectWholeTile(LinearLayout::wgmmaAccumulator({64, 256}, {4, 2}, 128), 16, 1);
}

TEST(WarpBoxes, RunThroughSeveralPanels) {
  const LinearLayout wide = LinearLayout::blocked({64, 128}, {16, 4}, {1, 32}, {4, 1}, {1, 0});
  const auto boxes = warpBoxes(wide, 32, 1);
  ASSERT_TRUE(boxes);
  EXPECT_EQ(boxes->shared.panels(), 4);
  expectWholeTile(wide, 32, 1);
}

TEST(WarpBoxes, AreRefused) {
  const auto streaming = LinearLayout::blocked({64, 256}, {1, 8}, {1, 32}, {4, 1}, {1, 0});
  EXPECT_FALSE(warpBoxes(streaming, 16, 1)) << "a warp has rows far apart";
  const auto apart = LinearLayout::mma16816Accumulator({128, 128}, {2, 2});
  EXPECT_FALSE(warpBoxes(apart, 16, 1)) << "another warp's columns lie between";
  const auto small = LinearLayout::mma16816Accumulator({16, 16}, {1, 1});
  EXPECT_FALSE(warpBoxes(small, 16, 1)) << "512 bytes";
  const auto copies = LinearLayout::mma16816Accumulator({64, 64}, {8, 1});
  EXPECT_FALSE(warpBoxes(copies, 16, 1)) << "warps hold copies";
  const auto line = LinearLayout::blocked({4096}, {8}, {32}, {4}, {0});
  EXPECT_FALSE(warpBoxes(line, 16, 0)) << "no matrix";
}

//===- stores without bank conflicts -------------------------------------------------------===//

/// Registers of a lane in the order in which it stores them.
std::vector<int> orderOf(const LinearLayout &layout, llvm::ArrayRef<BankExchange> exchanges,
                         int lane) {
  std::vector<int> order;
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    int from = reg;
    for (const BankExchange &exchange : exchanges)
      from ^= (lane >> exchange.laneBit & 1) << exchange.regBit;
    order.push_back(from);
  }
  return order;
}

/// Each lane stores the same elements as before, in the order of its exchanged registers.
void expectSameElements(const LinearLayout &layout, llvm::ArrayRef<BankExchange> exchanges) {
  const LinearLayout stored = withExchanges(layout, exchanges);
  for (int lane = 0; lane < layout.numLanes(); ++lane)
    for (auto [reg, from] : llvm::enumerate(orderOf(layout, exchanges, lane)))
      ASSERT_EQ(stored.apply(static_cast<int>(reg), lane, 0), layout.apply(from, lane, 0));
}

TEST(BankExchange, StoresBoxesOfFp32Accumulators) {
  for (int64_t n : {16, 32, 64, 128, 256}) {
    const auto boxes =
        warpBoxes(LinearLayout::wgmmaAccumulator({64, n}, {4, 1}, static_cast<int>(n)), 32, 1);
    ASSERT_TRUE(boxes);
    const LinearLayout sorted = inVectorOrder(boxes->layout, boxes->shared);
    const int vector = boxes->shared.vectorBytes(sorted);
    ASSERT_EQ(vector, 8);
    ASSERT_GT(boxes->shared.bankConflicts(sorted, vector), 1) << n;
    const auto exchanges = bankExchanges(sorted, boxes->shared);
    expectSameElements(sorted, exchanges);
    if (boxes->shared.swizzle() == 128)
      ASSERT_EQ(boxes->shared.bankConflicts(withExchanges(sorted, exchanges), vector), 1) << n;
  }
}

TEST(BankExchange, LeavesStoresWithoutConflicts) {
  const SharedLayout rows({32, 32}, 32, {1, 0}, 0);
  const auto along = LinearLayout::blocked({32, 32}, {1, 1}, {1, 32}, {1, 1}, {1, 0});
  EXPECT_EQ(rows.bankConflicts(along, 4), 1);
  EXPECT_TRUE(bankExchanges(along, rows).empty());
}

TEST(BankExchange, SpreadsColumns) {
  const SharedLayout rows({32, 32}, 32, {1, 0}, 0);
  const auto down = LinearLayout::blocked({32, 32}, {1, 1}, {32, 1}, {1, 1}, {1, 0});
  EXPECT_EQ(rows.vectorBytes(down), 16);
  EXPECT_EQ(rows.bankConflicts(down, 16), 8);
  const auto exchanges = bankExchanges(down, rows);
  EXPECT_EQ(exchanges.size(), 3U);
  expectSameElements(down, exchanges);
  EXPECT_EQ(rows.bankConflicts(withExchanges(down, exchanges), 16), 1);
}

TEST(BankExchange, NeedsRegistersOfOtherBanks) {
  const SharedLayout rows({64, 32}, 32, {1, 0}, 0);
  const auto column = LinearLayout::blocked({64, 32}, {2, 1}, {32, 1}, {1, 32}, {1, 0});
  EXPECT_EQ(rows.bankConflicts(column, 4), 32);
  EXPECT_TRUE(bankExchanges(column, rows).empty());
}

TEST(BankExchange, ReplicasShareAWord) {
  const SharedLayout row({32}, 32, {0}, 0);
  const auto twice = LinearLayout::blocked({32}, {2}, {32}, {1}, {0});
  EXPECT_TRUE(bankExchanges(twice, row).empty());
}

} // namespace
