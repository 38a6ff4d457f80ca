//===- WarpConversionTest.cpp - elements find their places inside a warp -------------------===//
#include "layout/WarpConversion.h"

#include <gtest/gtest.h>
#include <map>

using namespace pantile;

namespace {

using Coord = LinearLayout::Coord;

/// Carries every element of every warp through the plan's pieces, one memory a warp.
void expectMoves(const LinearLayout &from, const LinearLayout &to, int bits) {
  const auto plan = warpConversion(from, to, bits);
  ASSERT_TRUE(plan) << from.str() << " -> " << to.str();
  size_t moved = 0;
  for (int warp = 0; warp < from.numWarps(); ++warp) {
    std::map<int64_t, int64_t> memory;
    for (size_t piece = 0; piece < plan->fromRegs.size(); ++piece) {
      for (int lane = 0; lane < 32; ++lane)
        for (size_t reg = 0; reg < plan->fromRegs[piece].size(); ++reg)
          memory[plan->shared.offset(plan->from.apply(reg, lane, 0))] =
              from.applyFlat(plan->fromRegs[piece][reg], lane, warp);
      for (int lane = 0; lane < 32; ++lane)
        for (size_t reg = 0; reg < plan->toRegs[piece].size(); ++reg, ++moved)
          ASSERT_EQ(memory.at(plan->shared.offset(plan->to.apply(reg, lane, 0))),
                    to.applyFlat(plan->toRegs[piece][reg], lane, warp));
    }
    EXPECT_LE(memory.rbegin()->first + bits / 8, plan->bytesOfWarp());
  }
  EXPECT_EQ(moved, size_t(to.numRegs()) * 32 * to.numWarps());
}

/// Rows of `columns` elements by vectors of `width`, each warp what it has of `acc`.
LinearLayout rows(const LinearLayout &acc, int width, int lanesAlong) {
  LinearLayout::Bases reg, lane, left = acc.reg();
  left.append(acc.lane().begin(), acc.lane().end());
  llvm::sort(left, [](const Coord &a, const Coord &b) {
    return std::make_tuple(a[1] == 0, a[0], a[1]) < std::make_tuple(b[1] == 0, b[0], b[1]);
  });
  for (const Coord &basis : left)
    if (basis[1] != 0 && basis[1] < width)
      reg.push_back(basis);
    else if (basis[1] != 0 && basis[1] < width * lanesAlong)
      lane.push_back(basis);
    else if (basis[0] != 0 && lane.size() < 5)
      lane.push_back(basis);
  for (const Coord &basis : left)
    if (!llvm::is_contained(reg, basis) && !llvm::is_contained(lane, basis))
      reg.push_back(basis);
  // Vectors stay in front.
  return LinearLayout(acc.shape(), reg, lane, acc.warp());
}

TEST(WarpConversion, MovesAccumulators) {
  for (int64_t m : {64, 128, 256})
    for (int64_t n : {16, 64, 128, 256})
      for (int64_t warps : {4, 8})
        for (int bits : {8, 16, 32}) {
          if (m < 16 * warps)
            continue;
          const LinearLayout acc = LinearLayout::wgmmaAccumulator({m, n}, {warps, 1}, int(n));
          const int width = 128 / bits;
          if (n < width || (n / width) * 16 < 32)
            continue;
          const int along = int(std::min<int64_t>(n / width, 8));
          const LinearLayout to = rows(acc, width, along);
          ASSERT_EQ(to.lane().size(), 5u);
          expectMoves(acc, to, bits);
        }
}

TEST(WarpConversion, NeedsLittleMemory) {
  const LinearLayout acc = LinearLayout::wgmmaAccumulator({128, 256}, {8, 1}, 256);
  const auto plan = warpConversion(acc, rows(acc, 8, 8), 16);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->bytesOfWarp(), 2048);
  EXPECT_EQ(plan->fromRegs.size(), 4u);
}

TEST(WarpConversion, RefusesWhatLeavesWarps) {
  const LinearLayout acc = LinearLayout::wgmmaAccumulator({128, 128}, {4, 1}, 128);
  const LinearLayout blocked = LinearLayout::blocked({128, 128}, {1, 8}, {2, 16}, {4, 1}, {1, 0});
  EXPECT_FALSE(warpConversion(acc, blocked, 16));
}

TEST(WarpConversion, RefusesCopies) {
  const LinearLayout acc = LinearLayout::wgmmaAccumulator({64, 32}, {8, 1}, 32);
  EXPECT_FALSE(warpConversion(acc, acc, 16));
}

} // namespace
