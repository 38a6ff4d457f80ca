//===- TileSliceTest.cpp - parts of tiles, against every element of random layouts ---------===//
#include "layout/TileSlice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace pantile;
using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

namespace {

using Random = std::mt19937;

int64_t draw(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// Bits of the shape in any order over registers, 8 lanes and 4 warps; some bits have no effect.
LinearLayout randomLayout(Random &random, const TileSlice::Ints &shape) {
  std::vector<Coord> bases;
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t step = 1; step < shape[d]; step *= 2) {
      bases.push_back(Coord(shape.size(), 0));
      bases.back()[d] = static_cast<int32_t>(step);
    }
  const int64_t replicas = draw(random, 0, 2);
  for (int64_t i = 0; i < replicas; ++i)
    bases.push_back(Coord(shape.size(), 0));
  std::shuffle(bases.begin(), bases.end(), random);
  Bases parts[3];
  for (const Coord &basis : bases) {
    const int64_t where = draw(random, 0, 2);
    const bool isFull =
        (where == 1 && parts[1].size() == 3) || (where == 2 && parts[2].size() == 2);
    const bool isReplica = llvm::all_of(basis, [](int32_t at) { return at == 0; });
    if (!isReplica || (where != 0 && !isFull))
      parts[isFull ? 0 : where].push_back(basis);
  }
  parts[1].resize(3, Coord(shape.size(), 0));
  parts[2].resize(2, Coord(shape.size(), 0));
  return LinearLayout(shape, parts[0], parts[1], parts[2]);
}

TileSlice randomSlice(Random &random) {
  TileSlice slice;
  for (int64_t rank = draw(random, 1, 3); rank > 0; --rank) {
    const int64_t whole = int64_t(1) << draw(random, 0, 5);
    const int64_t part = int64_t(1) << draw(random, 0, std::countr_zero(uint64_t(whole)));
    const int64_t stride = part == 1 ? 1 : draw(random, 1, (whole - 1) / (part - 1));
    slice.whole.push_back(whole);
    slice.part.push_back(part);
    slice.strides.push_back(stride);
    const int64_t most = whole - 1 - stride * (part - 1);
    const bool isAligned = draw(random, 0, 1) == 1;
    slice.offsets.push_back(isAligned ? draw(random, 0, most / part) * part % (most + 1)
                                      : draw(random, 0, most));
  }
  return slice;
}

template <typename Fn> void forEachHolder(const LinearLayout &layout, Fn fn) {
  for (int warp = 0; warp < layout.numWarps(); ++warp)
    for (int lane = 0; lane < layout.numLanes(); ++lane)
      for (int reg = 0; reg < layout.numRegs(); ++reg)
        fn(reg, lane, warp);
}

/// XOR of `parts[i]` over the set bits i of `bits`.
template <typename Parts> int64_t combined(const Parts &parts, int bits) {
  int64_t result = 0;
  for (auto [i, part] : llvm::enumerate(parts))
    if (bits >> i & 1)
      result ^= part;
  return result;
}

std::optional<Coord> inPart(const TileSlice &slice, const Coord &whole) {
  Coord result;
  for (int dim = 0; dim < slice.rank(); ++dim) {
    const auto at = slice.toPart(dim, whole[dim]);
    if (!at)
      return std::nullopt;
    result.push_back(static_cast<int32_t>(*at));
  }
  return result;
}

constexpr int turns = 3000;

} // namespace

TEST(TileSlice, PartAndWholeHoldTheirElements) {
  Random random(1);
  for (int turn = 0; turn < turns; ++turn) {
    const TileSlice slice = randomSlice(random);
    EXPECT_TRUE(slice.partOf(randomLayout(random, slice.whole)).coversShape());
    if (!slice.isLinear())
      continue;
    const LinearLayout part = randomLayout(random, slice.part);
    const LinearLayout whole = slice.wholeOf(part);
    ASSERT_TRUE(whole.coversShape());
    EXPECT_TRUE(SliceMoves::of(slice, whole, part, 32).registers);
  }
}

TEST(TileSlice, MovesBringEveryElement) {
  Random random(2);
  int byRegisters = 0, byShuffles = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const TileSlice slice = randomSlice(random);
    const LinearLayout whole = randomLayout(random, slice.whole);
    const LinearLayout part =
        draw(random, 0, 3) ? slice.partOf(whole) : randomLayout(random, slice.part);
    const SliceMoves moves = SliceMoves::of(slice, whole, part, 32);
    byRegisters += moves.registers.has_value();
    byShuffles += moves.shuffles.has_value();
    forEachHolder(part, [&](int reg, int lane, int warp) {
      const Coord wanted = slice.toWhole(part.apply(reg, lane, warp));
      if (moves.registers) {
        ASSERT_EQ(whole.apply((*moves.registers)[reg], lane, warp), wanted);
      } else if (moves.shuffles) {
        const auto &plan = *moves.shuffles;
        const int from = plan.srcLane[reg] ^ moves.lane ^ int(combined(plan.srcLaneOfLane, lane));
        const int source = plan.srcReg[reg] ^ moves.reg ^ int(combined(plan.srcRegOfLane, lane));
        ASSERT_EQ(whole.apply(source, from, warp), wanted);
      }
    });
  }
  EXPECT_GT(byRegisters, turns / 10);
  EXPECT_GT(byShuffles, turns / 20);
}

TEST(TileSlice, StoresHaveOneThreadForEachElement) {
  Random random(3);
  int found = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const TileSlice slice = randomSlice(random);
    const LinearLayout whole = randomLayout(random, slice.whole);
    const auto store = SliceStore::of(slice, whole);
    ASSERT_EQ(store.has_value(), slice.isLinear());
    if (!store)
      continue;
    ++found;
    std::set<Coord> stored;
    ASSERT_EQ(size_t(store->layout.numRegs()), store->registers.size());
    forEachHolder(store->layout, [&](int reg, int lane, int warp) {
      if ((lane & store->lanes) != store->lane || (warp & store->warps) != store->warp)
        return;
      const Coord at = store->layout.apply(reg, lane, warp);
      ASSERT_EQ(whole.apply(store->registers[reg], lane, warp), slice.toWhole(at));
      ASSERT_TRUE(stored.insert(at).second) << "two threads write one element";
    });
    int64_t count = 1;
    for (int64_t size : slice.part)
      count *= size;
    ASSERT_EQ(int64_t(stored.size()), count);
  }
  EXPECT_GT(found, turns / 10);
}

TEST(TileSlice, ReplacementsAreThoseOfThePartAndNoOthers) {
  Random random(4);
  int found = 0;
  for (int turn = 0; turn < turns; ++turn) {
    const TileSlice slice = randomSlice(random);
    const LinearLayout whole = randomLayout(random, slice.whole), part = slice.partOf(whole);
    const auto plan = SliceReplacement::of(slice, whole, part);
    ASSERT_EQ(plan.has_value(), slice.addsInRegisters(whole));
    if (!plan)
      continue;
    ++found;
    forEachHolder(whole, [&](int reg, int lane, int warp) {
      const auto &entry = plan->registers[reg];
      const int64_t outer = combined(plan->ofLane, lane) ^ combined(plan->ofWarp, warp);
      const auto wanted = inPart(slice, whole.apply(reg, lane, warp));
      ASSERT_EQ(entry.source >= 0 && outer == entry.wanted, wanted.has_value());
      if (wanted) {
        ASSERT_EQ(part.apply(entry.source, lane, warp), *wanted);
      }
    });
  }
  EXPECT_GT(found, turns / 10);
}
