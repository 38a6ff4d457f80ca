//===- LayoutTesting.h - random layouts, and what must hold of any -------------------------===//
// Needs: layouts each of whose bases moves along one dimension, if absent registers are needed.
// Gives: drawShape, drawLayout, drawInWarps (any number of warps), expectSound and expectConverts,
//        for the tests of layouts.
//===--------------------------------------------------------------------------------------===//
#ifndef PANTILE_TESTS_UNIT_LAYOUTTESTING_H
#define PANTILE_TESTS_UNIT_LAYOUTTESTING_H

#include "layout/LinearLayout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>

namespace pantile::layout_testing {
using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;
using Shape = LinearLayout::Shape;
using Random = std::mt19937;
inline int draw(Random &random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

inline Shape drawShape(Random &random) {
  Shape shape;
  const int rank = draw(random, 1, 3);
  for (int d = 0; d < rank; ++d)
    shape.push_back(draw(random, 1, rank == 1 ? 200 : rank == 2 ? 24 : 8));
  return shape;
}

/// Every bit of the hull goes to a register, a lane or a warp; lanes and warps beyond that replicate.
inline LinearLayout drawLayout(Random &random, const Shape &shape, int warps) {
  const LinearLayout whole(shape, {}, {}, {});
  Bases bits, reg, lane, warp;
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t step = 1; step < whole.hull()[d]; step *= 2) {
      Coord basis(shape.size(), 0);
      basis[d] = static_cast<int32_t>(step);
      bits.push_back(basis);
    }
  std::shuffle(bits.begin(), bits.end(), random);
  const size_t lanes = draw(random, 0, 5), ofWarps = draw(random, 0, warps);
  for (const Coord &basis : bits)
    (lane.size() < lanes ? lane : warp.size() < ofWarps ? warp : reg).push_back(basis);
  lane.resize(5, Coord(shape.size(), 0));
  warp.resize(warps, Coord(shape.size(), 0));
  std::shuffle(lane.begin(), lane.end(), random);
  return {shape, reg, lane, warp};
}

inline int drawOdd(Random &random) { return 2 * draw(random, 1, 15) + 1; }

/// `odd` parts of a random dimension, each spread at random over 2^k warps; or, where no dimension has
/// so many parts, fewer warps and replicas of them.
inline LinearLayout drawInWarps(Random &random, const Shape &shape) {
  const int odd = drawOdd(random),
            powers = draw(random, 0, std::countr_zero(std::bit_floor(32u / odd)));
  const int count = odd << powers;
  const int dim = draw(random, 0, static_cast<int>(shape.size()) - 1);
  const auto part = LinearLayout::oddPart(shape[dim], odd);
  if (!part)
    return drawLayout(random, shape, std::bit_width(unsigned(count)) - 1).withWarps(count);
  Shape ofPart(shape);
  ofPart[dim] = *part;
  const LinearLayout inside = drawLayout(random, ofPart, powers);
  Bases warp = inside.warp();
  for (int n = 1; n < odd; n *= 2) {
    warp.push_back(Coord(shape.size(), 0));
    warp.back()[dim] = static_cast<int32_t>(*part * n);
  }
  return {shape, inside.reg(), inside.lane(), warp, count};
}

/// Shapes of which many have parts.
inline Shape drawPartedShape(Random &random) {
  Shape shape = drawShape(random);
  shape[draw(random, 0, static_cast<int>(shape.size()) - 1)] = drawOdd(random)
                                                               << draw(random, 0, 3);
  return shape;
}

inline bool isInside(const Shape &shape, const Coord &coord) {
  for (auto [extent, c] : llvm::zip(shape, coord))
    if (c >= extent)
      return false;
  return true;
}

template <typename Fn> void forEachElement(const Shape &shape, Fn fn) {
  Coord coord(shape.size(), 0);
  for (bool more = true; more;) {
    fn(coord);
    more = false;
    for (int d = static_cast<int>(shape.size()) - 1; d >= 0 && !more; --d) {
      more = ++coord[d] < shape[d];
      if (!more)
        coord[d] = 0;
    }
  }
}

/// Each element has one owner, a register that is present; absent and partial are what they say.
inline void expectSound(const LinearLayout &layout) {
  ASSERT_TRUE(layout.coversShape()) << layout.str();
  const LinearLayout::FreeBits free = layout.freeBits();
  const Shape reach = layout.reach();
  std::map<int64_t, int> owners;
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    bool somewhereInside = false, somewhereOutside = false;
    const bool present = layout.isPresent(reg);
    for (int warp = 0; warp < layout.numWarps(); ++warp)
      for (int lane = 0; lane < layout.numLanes(); ++lane) {
        const Coord coord = layout.apply(reg, lane, warp);
        const bool inside = isInside(layout.shape(), coord);
        somewhereInside |= inside;
        somewhereOutside |= !inside;
        const bool owns =
            (reg & free.reg) == 0 && (lane & free.lane) == 0 && (warp & free.warp) == 0;
        owners[layout.applyFlat(reg, lane, warp)] += inside && owns;
        ASSERT_TRUE(isInside(reach, coord) || !present) << layout.str();
      }
    ASSERT_EQ(present, somewhereInside) << layout.str() << " register " << reg;
    ASSERT_EQ(layout.isPartial(reg), somewhereOutside) << layout.str() << " register " << reg;
  }
  forEachElement(layout.shape(), [&](const Coord &coord) {
    const LinearLayout::Owner owner = layout.ownerOf(coord);
    ASSERT_EQ(layout.apply(owner.reg, owner.lane, owner.warp), coord);
    ASSERT_EQ(owners[layout.applyFlat(owner.reg, owner.lane, owner.warp)], 1) << layout.str();
    ASSERT_TRUE(layout.isPresent(owner.reg));
  });
}

/// What registers hold after a conversion, given what they held: numbers of elements.
inline void expectConverts(const LinearLayout &from, const LinearLayout &to) {
  auto held = [&](int reg, int lane, int warp) {
    return from.isPresent(reg) ? from.applyFlat(reg, lane, warp) : -1;
  };
  const auto moves = from.registerMoves(to);
  const auto plan = from.shufflePlan(to);
  auto combined = [](llvm::ArrayRef<int> parts, int bits) {
    int result = 0;
    for (size_t i = 0; i < parts.size(); ++i)
      result ^= bits >> i & 1 ? parts[i] : 0;
    return result;
  };
  for (int warp = 0; warp < to.numWarps(); ++warp)
    for (int lane = 0; lane < to.numLanes(); ++lane)
      for (int reg = 0; reg < to.numRegs(); ++reg) {
        const Coord want = to.apply(reg, lane, warp);
        if (!isInside(to.shape(), want))
          continue;
        if (moves) {
          ASSERT_EQ(held((*moves)[reg], lane, warp), to.applyFlat(reg, lane, warp));
        }
        if (plan) {
          const int source = plan->srcReg[reg] ^ combined(plan->srcRegOfLane, lane),
                    other = plan->srcLane[reg] ^ combined(plan->srcLaneOfLane, lane);
          ASSERT_EQ(held(source, other, warp), to.applyFlat(reg, lane, warp))
              << from.str() << to.str();
        }
      }
}

} // namespace pantile::layout_testing

#endif // PANTILE_TESTS_UNIT_LAYOUTTESTING_H
