//===- LayoutPropertiesTest.cpp - what holds of any layout, compared with counting --------------===//
// Needs: PANTILE_RANDOM_LAYOUTS, how many layouts are drawn (400), and PANTILE_LAYOUT_SEED.
// Gives: tests of owners, conversions, vector widths and bank conflicts of random layouts.
// How:   each thread of each layout is asked for each of its elements, and what the algebra says is
//        counted instead: who owns an element, which registers are neighbours, which words of a bank
//        a warp touches.
//===------------------------------------------------------------------------------------===//
#include "LayoutTesting.h"
#include "layout/MatrixAccess.h"
#include "layout/SharedLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <array>
#include <cstdlib>

using namespace pantile;
using namespace pantile::layout_testing;

namespace {
int fromEnvironment(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

//===- drawing ---------------------------------------------------------------------------===//

Shape drawWarps(Random &random) {
  return {int64_t(1) << draw(random, 0, 2), int64_t(1) << draw(random, 0, 1)};
}

LinearLayout drawFragment(Random &random) {
  const int64_t m = draw(random, 1, 64), n = draw(random, 1, 48);
  switch (draw(random, 0, 4)) {
  case 0:
    return LinearLayout::mma16816Accumulator({m, n}, drawWarps(random));
  case 1:
    return LinearLayout::mmaOperandA({m, 16 * draw(random, 1, 3)}, drawWarps(random),
                                     8 << draw(random, 0, 2));
  case 2:
    return LinearLayout::mmaOperandB({16 * draw(random, 1, 3), n}, drawWarps(random),
                                     8 << draw(random, 0, 2));
  case 3: {
    const int64_t columns = 8 * draw(random, 1, 6);
    return LinearLayout::wgmmaAccumulator({64, columns}, {4, 1}, int(columns));
  }
  default:
    const int64_t wide = int64_t(1) << draw(random, 0, 3), lanes = int64_t(1) << draw(random, 0, 5);
    return LinearLayout::blocked({m, n}, {1, wide}, {32 / lanes, lanes}, drawWarps(random), {1, 0});
  }
}

LinearLayout drawAny(Random &random) {
  switch (draw(random, 0, 3)) {
  case 0:
    return drawInWarps(random, drawPartedShape(random));
  case 1:
    return drawFragment(random);
  default:
    return drawLayout(random, drawShape(random), draw(random, 0, 3));
  }
}

/// The same bits in other places of registers and lanes; in some, warps too.
LinearLayout shuffled(Random &random, const LinearLayout &layout) {
  Bases reg = layout.reg(), lane = layout.lane();
  const int swaps = draw(random, 0, 3);
  for (int i = 0; i < swaps && !reg.empty(); ++i)
    std::swap(reg[draw(random, 0, int(reg.size()) - 1)], lane[draw(random, 0, 4)]);
  std::shuffle(reg.begin(), reg.end(), random);
  std::shuffle(lane.begin(), lane.end(), random);
  return {layout.shape(), reg, lane, layout.warp(), layout.numWarps()};
}

SharedLayout drawShared(Random &random, const Shape &shape) {
  SharedLayout::Order order;
  for (int d = 0; d < int(shape.size()); ++d)
    order.insert(order.begin() + draw(random, 0, d), d);
  const int bits = 8 << draw(random, 0, 3), span = 16 << draw(random, 1, 3);
  const int64_t row = shape[order[0]] * bits / 8;
  if (span <= row && row % span == 0)
    return SharedLayout(shape, bits, order, span).withSwizzleShift(draw(random, 0, 2));
  return SharedLayout(shape, bits, order, 0, draw(random, 0, 1) * 16);
}

//===- counting --------------------------------------------------------------------------===//

/// Row-major numbers of the hull's elements that threads hold, and which of these are of the shape.
struct Held {
  const LinearLayout &layout;
  std::vector<int64_t> ofReg, ofLane, ofWarp;
  std::vector<Coord> coords; // by number
  std::vector<char> inside;

  explicit Held(const LinearLayout &layout) : layout(layout) {
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      ofReg.push_back(layout.applyFlat(reg, 0, 0));
    for (int lane = 0; lane < layout.numLanes(); ++lane)
      ofLane.push_back(layout.applyFlat(0, lane, 0));
    for (int warp = 0; warp < layout.numWarps(); ++warp)
      ofWarp.push_back(layout.applyFlat(0, 0, warp));
    forEachElement(layout.hull(), [&](const Coord &coord) {
      coords.push_back(coord);
      inside.push_back(isInside(layout.shape(), coord));
    });
  }
  int64_t number(int reg, int lane, int warp) const {
    return ofReg[reg] ^ ofLane[lane] ^ ofWarp[warp];
  }
  template <typename Fn> void forEachThread(Fn fn) const {
    for (int warp = 0; warp < layout.numWarps(); ++warp)
      for (int lane = 0; lane < layout.numLanes(); ++lane)
        fn(lane, warp);
  }
};

/// What a thread holds is the combination of what its register, lane and warp say.
void expectLinear(Random &random, const Held &held) {
  const LinearLayout &layout = held.layout;
  for (int i = 0; i < 4; ++i) {
    const int reg = draw(random, 0, layout.numRegs() - 1), lane = draw(random, 0, 31),
              warp = draw(random, 0, layout.numWarps() - 1);
    const int64_t number = held.number(reg, lane, warp);
    ASSERT_EQ(layout.applyFlat(reg, lane, warp), number) << layout.str();
    ASSERT_EQ(layout.apply(reg, lane, warp), held.coords[number]) << layout.str();
  }
}

/// Each element has one owner, in a register that is present; absent and partial are what they say.
void expectOneOwner(const Held &held) {
  const LinearLayout &layout = held.layout;
  ASSERT_TRUE(layout.coversShape()) << layout.str();
  const LinearLayout::FreeBits free = layout.freeBits();
  std::vector<int> owners(held.coords.size()), inside(layout.numRegs()), outside(layout.numRegs());
  held.forEachThread([&](int lane, int warp) {
    const bool mayOwn = (lane & free.lane) == 0 && (warp & free.warp) == 0;
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      const int64_t number = held.number(reg, lane, warp);
      ++(held.inside[number] ? inside : outside)[reg];
      owners[number] += mayOwn && (reg & free.reg) == 0;
    }
  });
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    ASSERT_EQ(layout.isPresent(reg), inside[reg] > 0) << layout.str() << " register " << reg;
    ASSERT_EQ(layout.isPartial(reg), outside[reg] > 0) << layout.str() << " register " << reg;
  }
  for (auto [count, isInside] : llvm::zip_equal(owners, held.inside))
    ASSERT_TRUE(count == 1 || !isInside) << layout.str();
}

/// Element by element, what a move of registers or a plan of shuffles brings; whether there is one.
bool converts(const Held &from, const Held &to) {
  const auto moves = from.layout.registerMoves(to.layout);
  const auto plan = from.layout.shufflePlan(to.layout);
  auto combined = [](llvm::ArrayRef<int> parts, int bits) {
    int result = 0;
    for (size_t i = 0; i < parts.size(); ++i)
      result ^= bits >> i & 1 ? parts[i] : 0;
    return result;
  };
  std::vector<char> isPresent;
  for (int reg = 0; reg < from.layout.numRegs(); ++reg)
    isPresent.push_back(from.layout.isPresent(reg));
  auto has = [&](int reg, int lane, int warp, int64_t wanted) {
    return from.number(reg, lane, warp) == wanted && isPresent[reg];
  };
  bool right = true;
  to.forEachThread([&](int lane, int warp) {
    const int regOfLane = plan ? combined(plan->srcRegOfLane, lane) : 0;
    const int laneOfLane = plan ? combined(plan->srcLaneOfLane, lane) : 0;
    for (int reg = 0; reg < to.layout.numRegs() && right; ++reg) {
      const int64_t wanted = to.number(reg, lane, warp);
      if (!to.inside[wanted])
        continue;
      right = (!moves || has((*moves)[reg], lane, warp, wanted)) &&
              (!plan ||
               has(plan->srcReg[reg] ^ regOfLane, plan->srcLane[reg] ^ laneOfLane, warp, wanted));
    }
  });
  EXPECT_TRUE(right) << from.layout.str() << " to " << to.layout.str();
  return moves || plan;
}

/// Whether every `count` registers side by side hold neighbours along `dim`, all of them inside or
/// none; at `offsets`, if given, from an address on that a vector of so many may have.
bool areVectors(const Held &held, int dim, int count, llvm::ArrayRef<int64_t> offsets, int bytes) {
  const LinearLayout &layout = held.layout;
  bool all = layout.numRegs() >= count;
  held.forEachThread([&](int lane, int warp) {
    for (int first = 0; first < layout.numRegs() && all; first += count) {
      const int64_t start = held.number(first, lane, warp);
      all = offsets.empty() || offsets[start] % (count * bytes) == 0;
      for (int i = 1; i < count && all; ++i) {
        const int64_t next = held.number(first + i, lane, warp);
        Coord expected = held.coords[start];
        expected[dim] += i;
        all = held.coords[next] == expected && held.inside[next] == held.inside[start] &&
              (offsets.empty() || offsets[next] == offsets[start] + i * bytes);
      }
    }
  });
  return all;
}

void expectVectors(const Held &held, const SharedLayout &shared, llvm::ArrayRef<int64_t> offsets) {
  for (int dim = 0; dim < held.layout.rank(); ++dim) {
    int count = 1;
    while (areVectors(held, dim, count * 2, {}, 1))
      count *= 2;
    ASSERT_EQ(held.layout.contiguousRegs(dim), count) << held.layout.str() << " along " << dim;
  }
  int count = 1;
  const int bytes = shared.elementBits() / 8;
  while (count * 2 * bytes <= 16 && areVectors(held, shared.order()[0], count * 2, offsets, bytes))
    count *= 2;
  ASSERT_EQ(shared.vectorBytes(held.layout), count * bytes)
      << held.layout.str() << " in " << shared.str();
}

/// Words of 4 bytes that some lanes touch at once, by bank.
struct Banks {
  std::array<std::array<int64_t, 160>, 32> words; // 5 of each lane
  std::array<int, 32> counts{};
  int most = 0;

  void touch(int64_t start, int bytes) {
    for (int64_t word = start / 4; word <= (start + bytes - 1) / 4; ++word) {
      auto &ofBank = words[word % 32];
      int &count = counts[word % 32];
      if (std::find(ofBank.begin(), ofBank.begin() + count, word) != ofBank.begin() + count)
        continue;
      ofBank[count++] = word;
      most = std::max(most, count);
    }
  }
};

/// Of any warp's access, which 128 bytes at a time serve by quarters, halves or as a whole: first of
/// all lanes, then of those whose elements are inside.
std::array<int, 2> mostConflicts(const Held &held, llvm::ArrayRef<int64_t> offsets, int vecBytes,
                                 int regs) {
  const int lanesAtOnce = std::min(32, 128 / std::max(vecBytes, 4));
  int ofAll = 1, ofInside = 1;
  for (int warp = 0; warp < held.layout.numWarps(); ++warp)
    for (int reg = 0; reg < held.layout.numRegs(); reg += regs)
      for (int first = 0; first < 32; first += lanesAtOnce) {
        Banks all, inside;
        for (int lane = first; lane < first + lanesAtOnce; ++lane) {
          const int64_t number = held.number(reg, lane, warp);
          all.touch(offsets[number], vecBytes);
          if (held.inside[number])
            inside.touch(offsets[number], vecBytes);
        }
        ofAll = std::max(ofAll, all.most), ofInside = std::max(ofInside, inside.most);
      }
  return {ofAll, ofInside};
}

void expectConflicts(const Held &held, const SharedLayout &shared,
                     llvm::ArrayRef<int64_t> offsets) {
  const int vecBytes = shared.vectorBytes(held.layout), regs = vecBytes * 8 / shared.elementBits();
  const int said = shared.bankConflicts(held.layout, vecBytes);
  const auto [ofAll, ofInside] = mostConflicts(held, offsets, vecBytes, regs);
  ASSERT_EQ(said, ofAll) << held.layout.str() << " in " << shared.str();
  ASSERT_GE(said, ofInside) << held.layout.str() << " in " << shared.str();
}

/// Elements lie apart, within the buffer.
void expectApart(const Held &held, const SharedLayout &shared, llvm::ArrayRef<int64_t> offsets) {
  const int bytes = shared.elementBits() / 8;
  std::vector<char> taken(shared.bytes() / bytes);
  for (auto [number, offset] : llvm::enumerate(offsets)) {
    if (!held.inside[number])
      continue;
    ASSERT_TRUE(offset >= 0 && offset % bytes == 0 && offset + bytes <= shared.bytes())
        << shared.str();
    ASSERT_FALSE(taken[offset / bytes]++) << shared.str();
  }
}
/// Renumbered registers hold the same elements, and their vectors are what memory has.
void expectVectorOrder(const Held &held, const SharedLayout &shared) {
  const LinearLayout order = inVectorOrder(held.layout, shared);
  const Held sorted(order);
  ASSERT_TRUE(converts(held, sorted)) << held.layout.str();
  ASSERT_TRUE(held.layout.sameThreads(sorted.layout)) << held.layout.str();
  ASSERT_GE(shared.vectorBytes(sorted.layout), shared.vectorBytes(held.layout));
  const auto offsets =
      llvm::map_to_vector(sorted.coords, [&](const Coord &at) { return shared.offset(at); });
  expectVectors(sorted, shared, offsets);
}

/// What ldmatrix brings to each register is what the layout says: lane 8 j + i has the address of
/// row i of matrix j. False if the registers form no matrices.
bool expectMatrices(const LinearLayout &layout, const SharedLayout &shared) {
  const auto access = findMatrices(layout, shared);
  if (!access)
    return false;
  const LinearLayout &ordered = access->ordered;
  EXPECT_TRUE(layout.sameThreads(ordered));
  const int bytes = shared.elementBits() / 8, inWord = access->registersPerWord;
  auto rowOf = [&](int reg, int row, int warp) {
    int64_t linear = shared.linearOffset(ordered.apply(reg, 0, warp));
    for (int bit = 0; bit < 3; ++bit)
      linear ^= row >> bit & 1 ? shared.linearOffset(access->rows[bit]) : 0;
    return shared.place(linear);
  };
  for (int warp = 0; warp < ordered.numWarps(); ++warp)
    for (int reg = 0; reg < ordered.numRegs(); ++reg)
      for (int lane = 0; lane < 32; ++lane) {
        const int first = reg / inWord * inWord, byte = (reg - first) * bytes;
        const int row = access->transposed ? lane % 4 * 2 + byte / 2 : lane / 4;
        const int at = access->transposed ? lane / 4 * 2 + byte % 2 : lane % 4 * 4 + byte;
        EXPECT_EQ(rowOf(first, row, warp) % 16, 0);
        EXPECT_EQ(rowOf(first, row, warp) + at, shared.offset(ordered.apply(reg, lane, warp)))
            << layout.str() << " in " << shared.str();
      }
  return true;
}
} // namespace

TEST(LayoutProperties, MatricesAreWhatLdmatrixBrings) {
  Random random(fromEnvironment("PANTILE_LAYOUT_SEED", 7));
  int found[2] = {};
  for (int round = 0; round < fromEnvironment("PANTILE_RANDOM_LAYOUTS", 400); ++round) {
    const int bits = 8 << draw(random, 0, 1), fastest = draw(random, 0, 1);
    const FragmentOrder order{2 << draw(random, 0, 3), 1 << draw(random, 0, 2)};
    const auto fragments = LinearLayout::mmaOperandB({64, 64}, {1, 2}, 16, order);
    Bases regs = fragments.reg();
    if (bits == 8)
      std::shuffle(regs.begin(), regs.end(), random);
    const LinearLayout layout({64, 64}, regs, fragments.lane(), fragments.warp());
    const auto shared = SharedLayout::forOperand({64, 64}, bits, {fastest, 1 - fastest});
    found[bits == 8] += expectMatrices(layout, shared);
  }
  EXPECT_GT(found[0], 10);
  EXPECT_GT(found[1], 10);
}

TEST(LayoutProperties, HoldOfRandomLayouts) {
  const int count = fromEnvironment("PANTILE_RANDOM_LAYOUTS", 400);
  Random random(fromEnvironment("PANTILE_LAYOUT_SEED", 31));
  int conversions = 0;
  for (int round = 0; round < count && !HasFailure(); ++round) {
    const LinearLayout layout = drawAny(random), other = shuffled(random, layout);
    const Held held(layout);
    expectLinear(random, held);
    expectOneOwner(held);
    conversions += converts(held, Held(other));
    const SharedLayout shared = drawShared(random, layout.shape());
    const auto offsets =
        llvm::map_to_vector(held.coords, [&](const Coord &at) { return shared.offset(at); });
    expectApart(held, shared, offsets);
    expectVectors(held, shared, offsets);
    expectConflicts(held, shared, offsets);
    expectVectorOrder(held, shared);
  }
  EXPECT_GT(conversions, count / 2);
}
