//===- LayoutFragments.cpp - blocked layouts and MMA fragments ---------------------===//
// Needs: lanes and sizes per thread that are powers of two; warps that are, but for one odd factor.
// Gives: LinearLayout::blocked and the fragments of mma.sync (also of fp64) and wgmma.
// How:   A Builder assigns the bits of each dimension from the lowest up: so many to registers,
//        lanes and warps, and the rest to repetitions. The fragment tables of the PTX manual become
//        five lines each. With an odd factor of the warps, a Builder first removes the highest bits
//        of the factor's dimension, and assigns the bits of one part; the removed bits become the
//        highest bits of the warp.
//===-------------------------------------------------------------------------------===//
#include "layout/LinearLayout.h"
#include "layout/TransposingLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace pantile {

namespace {
using Bases = LinearLayout::Bases;
using Coord = LinearLayout::Coord;
using Shape = LinearLayout::Shape;

int64_t powerOf2In(int64_t count) { return count & -count; }
int64_t oddIn(int64_t count) { return count / powerOf2In(count); }

class Builder {
public:
  /// An odd factor of `warpsPerCta` belongs to its dimension, or to none if that is `replicated`.
  explicit Builder(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> warpsPerCta,
                   int replicated = -1)
      : shape(shape), whole(shape), next(shape.size(), 1) {
    for (auto [d, count] : llvm::enumerate(warpsPerCta)) {
      numWarps *= count;
      if (const int64_t odd = oddIn(count); odd > 1)
        takeParts(static_cast<int>(d), odd, static_cast<int>(d) != replicated);
    }
  }

  /// The next bits of `dim` for `count` registers, rounded up; none past the tile's edge.
  void regs(int dim, int64_t count) {
    for (int64_t n = 1; n < count; n *= 2, next[dim] *= 2)
      if (next[dim] < shape[dim])
        reg.push_back(unit(dim));
  }
  /// The same for lanes or warps: past the edge they replicate.
  void threads(Bases &bases, int dim, int64_t count) {
    for (; count > 1; count /= 2, next[dim] *= 2)
      bases.push_back(next[dim] < shape[dim] ? unit(dim) : zero());
  }
  /// The next bits of `dim` for the power of two in `count`.
  void warps(int dim, int64_t count) { threads(warp, dim, powerOf2In(count)); }
  void replicateWarps(int64_t count) {
    for (int64_t n = powerOf2In(count); n > 1; n /= 2)
      warp.push_back(zero());
  }
  /// The next bits of `dim` for `count` registers whose bits come later.
  Bases skip(int dim, int64_t count) {
    Bases skipped;
    threads(skipped, dim, count);
    return skipped;
  }
  void add(const Bases &skipped) { reg.append(skipped.begin(), skipped.end()); }
  /// All further bits of `dim`.
  void repeat(int dim) {
    while (next[dim] < shape[dim])
      regs(dim, 2);
  }
  LinearLayout done() {
    warp.append(parts);
    return LinearLayout(whole, reg, lane, warp, static_cast<int>(numWarps));
  }

  Bases lane;

private:
  void takeParts(int dim, int64_t odd, bool along) {
    assert(parts.empty() && "one dimension has the odd factor");
    const auto part = LinearLayout::oddPart(shape[dim], odd);
    assert((!along || part) && "each part lies in a warp that exists");
    for (int64_t n = 1; n < odd; n *= 2) {
      parts.push_back(zero());
      if (along)
        parts.back()[dim] = static_cast<int32_t>(*part * n);
    }
    if (along)
      shape[dim] = *part;
  }
  Coord zero() const { return Coord(shape.size(), 0); }
  Coord unit(int dim) const {
    Coord basis = zero();
    basis[dim] = static_cast<int32_t>(next[dim]);
    return basis;
  }

  Shape shape; // of one part
  Shape whole;
  Shape next; // the next free bit of each dimension, as a power of two
  Bases reg, warp, parts;
  int64_t numWarps = 1;
};

/// Dimensions before the last two: warps if any, then repetitions, the outermost last.
void spreadBatch(Builder &b, llvm::ArrayRef<int64_t> warpsPerCta) {
  for (int d = static_cast<int>(warpsPerCta.size()) - 3; d >= 0; --d)
    b.warps(d, warpsPerCta[d]);
}
/// Repetitions along `fast`, then `slow`, then the dimensions before the last two.
LinearLayout repeated(Builder &b, int rank, int fast, int slow) {
  b.repeat(fast);
  b.repeat(slow);
  for (int d = rank - 3; d >= 0; --d)
    b.repeat(d);
  return b.done();
}
LinearLayout spreadAndRepeated(Builder &b, llvm::ArrayRef<int64_t> warpsPerCta, int fast,
                               int slow) {
  spreadBatch(b, warpsPerCta);
  return repeated(b, static_cast<int>(warpsPerCta.size()), fast, slow);
}
} // namespace

std::optional<int64_t> LinearLayout::oddPart(int64_t extent, int64_t odd) {
  const auto hull = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent))),
             count = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(odd)));
  return hull >= count && extent <= hull / count * odd ? std::optional(hull / count) : std::nullopt;
}

LinearLayout LinearLayout::blocked(llvm::ArrayRef<int64_t> shape,
                                   llvm::ArrayRef<int64_t> sizePerThread,
                                   llvm::ArrayRef<int64_t> threadsPerWarp,
                                   llvm::ArrayRef<int64_t> warpsPerCta, llvm::ArrayRef<int> order) {
  assert(order.size() == shape.size() && sizePerThread.size() == shape.size());
  Builder b(shape, warpsPerCta);
  for (int d : order)
    b.regs(d, sizePerThread[d]);
  for (int d : order)
    b.threads(b.lane, d, threadsPerWarp[d]);
  for (int d : order)
    b.warps(d, warpsPerCta[d]);
  for (int d : order)
    b.repeat(d);
  return b.done();
}

namespace {
/// The eight rows of lanes 0, 4, 8 ...
void laneRows(Builder &b, int m, int64_t rows, bool apart) {
  b.threads(b.lane, m, 8);
  if (apart && rows >= 8)
    std::rotate(b.lane.end() - 3, b.lane.end() - 1, b.lane.end());
}

/// The first bits of K in a fragment of A or B: what one 32-bit register holds, and four lanes.
/// Returns the bits of adjacent elements between them.
Bases wordsOfK(Builder &b, int k, int elementBits, FragmentOrder order) {
  b.regs(k, 32 / elementBits);
  const Bases between = b.skip(k, elementBits == 16 ? order.adjacentK / 2 : 1);
  b.threads(b.lane, k, 4);
  return between;
}

/// The last bit of K in a fragment, the lowest one that is left. Returns those of `between` that
/// further fragments hold.
Bases lastOfK(Builder &b, int k, const Bases &between) {
  if (between.empty())
    b.regs(k, 2);
  else
    b.add(Bases(1, between.front()));
  return Bases(llvm::drop_begin(between, between.empty() ? 0 : 1));
}
} // namespace

LinearLayout LinearLayout::mma16816Accumulator(llvm::ArrayRef<int64_t> shape,
                                               llvm::ArrayRef<int64_t> warpsPerCta,
                                               FragmentOrder order) {
  const int rank = static_cast<int>(shape.size()), m = rank - 2, n = rank - 1;
  Builder b(shape, warpsPerCta);
  const Bases columns = b.skip(n, order.adjacentN);
  b.regs(n, 2);
  b.threads(b.lane, n, 4);
  laneRows(b, m, shape[m], order.rowsApart);
  b.regs(m, 2);
  b.warps(m, warpsPerCta[m]);
  b.warps(n, warpsPerCta[n]);
  spreadBatch(b, warpsPerCta);
  b.add(columns);
  return repeated(b, rank, n, m);
}

LinearLayout LinearLayout::mmaOperandA(llvm::ArrayRef<int64_t> shape,
                                       llvm::ArrayRef<int64_t> warpsPerCta, int elementBits,
                                       FragmentOrder order) {
  const int rank = static_cast<int>(shape.size()), m = rank - 2, k = rank - 1;
  Builder b(shape, warpsPerCta, /*replicated=*/k);
  const Bases between = wordsOfK(b, k, elementBits, order);
  laneRows(b, m, shape[m], order.rowsApart);
  b.regs(m, 2);
  const Bases further = lastOfK(b, k, between);
  b.warps(m, warpsPerCta[m]);
  b.replicateWarps(warpsPerCta[k]);
  spreadBatch(b, warpsPerCta);
  b.add(further);
  return repeated(b, rank, k, m);
}

LinearLayout LinearLayout::mmaOperandB(llvm::ArrayRef<int64_t> shape,
                                       llvm::ArrayRef<int64_t> warpsPerCta, int elementBits,
                                       FragmentOrder order) {
  const int rank = static_cast<int>(shape.size()), k = rank - 2, n = rank - 1;
  Builder b(shape, warpsPerCta, /*replicated=*/k);
  const Bases columns = b.skip(n, order.adjacentN);
  const Bases between = wordsOfK(b, k, elementBits, order);
  b.threads(b.lane, n, 8);
  const Bases further = lastOfK(b, k, between);
  b.replicateWarps(warpsPerCta[k]);
  b.warps(n, warpsPerCta[n]);
  spreadBatch(b, warpsPerCta);
  b.add(further);
  b.repeat(k);
  b.add(columns);
  return repeated(b, rank, k, n);
}

namespace {
/// K of one fp64 instruction on tiles of this depth.
int64_t stepOfFp64(int64_t depth) { return std::min<int64_t>(depth, 16); }
} // namespace

LinearLayout LinearLayout::mmaFp64A(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> warpsPerCta, Fp64Order order) {
  const int rank = static_cast<int>(shape.size()), m = rank - 2, k = rank - 1;
  Builder b(shape, warpsPerCta, /*replicated=*/k);
  b.regs(k, order.adjacentK);
  b.threads(b.lane, k, 4);
  laneRows(b, m, shape[m], order.rowsApart);
  b.regs(k, stepOfFp64(shape[k]) / (4 * order.adjacentK));
  b.regs(m, 2);
  b.warps(m, warpsPerCta[m]);
  b.replicateWarps(warpsPerCta[k]);
  return spreadAndRepeated(b, warpsPerCta, k, m);
}

LinearLayout LinearLayout::mmaFp64B(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> warpsPerCta, Fp64Order order) {
  const int rank = static_cast<int>(shape.size()), k = rank - 2, n = rank - 1;
  Builder b(shape, warpsPerCta, /*replicated=*/k);
  b.regs(k, order.adjacentK);
  b.threads(b.lane, k, 4);
  b.threads(b.lane, n, 8);
  b.regs(k, stepOfFp64(shape[k]) / (4 * order.adjacentK));
  b.replicateWarps(warpsPerCta[k]);
  b.warps(n, warpsPerCta[n]);
  return spreadAndRepeated(b, warpsPerCta, k, n);
}

LinearLayout LinearLayout::mmaFp64Accumulator(llvm::ArrayRef<int64_t> shape,
                                              llvm::ArrayRef<int64_t> warpsPerCta,
                                              Fp64Order order) {
  const int rank = static_cast<int>(shape.size()), m = rank - 2, n = rank - 1;
  Builder b(shape, warpsPerCta);
  b.regs(n, 2);
  b.threads(b.lane, n, 4);
  laneRows(b, m, shape[m], order.rowsApart);
  b.regs(m, 2);
  b.warps(m, warpsPerCta[m]);
  b.warps(n, warpsPerCta[n]);
  return spreadAndRepeated(b, warpsPerCta, n, m);
}

LinearLayout LinearLayout::wgmmaAccumulator(llvm::ArrayRef<int64_t> shape,
                                            llvm::ArrayRef<int64_t> warpsPerCta, int instrN,
                                            int run) {
  const int rank = static_cast<int>(shape.size()), m = rank - 2, n = rank - 1;
  assert(warpsPerCta[m] % 4 == 0 && "a warp group is four warps along M");
  Builder b(shape, warpsPerCta);
  b.regs(n, 2);
  b.threads(b.lane, n, 4);
  b.threads(b.lane, m, 8);
  b.regs(m, 2);
  b.regs(n, (run ? run : instrN) / 8);
  b.warps(m, warpsPerCta[m]);
  b.warps(n, warpsPerCta[n]);
  spreadBatch(b, warpsPerCta);
  if (run) {
    assert(oddIn(warpsPerCta[n]) == 1 && "parts of columns are powers of two, and need no runs");
    const Bases repeats = b.skip(n, shape[n] / (instrN * warpsPerCta[n]));
    b.regs(n, instrN / run);
    b.add(repeats);
  }
  return repeated(b, rank, n, m);
}

/// A chunk's position in its row of the first buffer is bits 2 to 4 of n, XORed with the lowest
/// three of k; in the second buffer it is the other way around. Lane bits 0 to 2, which are served
/// at once, change all three in both: by n2 and k3, n3 and k4, and k2.
LinearLayout transposingLayout(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest) {
  const int k = 0, n = 1;
  const auto filled = static_cast<int64_t>(std::bit_floor(static_cast<unsigned>(numWarps)));
  Builder b(shape, {1, filled});
  b.regs(fastest, 4);
  b.regs(1 - fastest, 4);
  b.threads(b.lane, n, 4);
  b.threads(b.lane, k, 2);
  for (int i = 0; i < 2; ++i) {
    // k3 and k4 also belong to the lanes of n2 and n3; there are none of a smaller tile.
    const int32_t next = 8 << i;
    const bool isInside = next < shape[k];
    if (isInside)
      b.lane[i][k] = next;
    b.threads(b.lane, isInside ? k : n, 2);
  }
  b.warps(n, filled);
  b.repeat(n);
  b.repeat(k);
  return b.done().withWarps(numWarps);
}

LinearLayout transposingBytes(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest) {
  const int k = 0, n = 1;
  const auto filled = static_cast<int64_t>(std::bit_floor(static_cast<unsigned>(numWarps)));
  const bool isWide = shape[k] >= 32 && shape[k] * shape[n] / (32 * filled) >= 64;
  Builder b(shape, {1, filled});
  b.regs(fastest, fastest == k && isWide ? 16 : 4);
  b.regs(1 - fastest, fastest == n && isWide ? 16 : 4);
  if (isWide) {
    b.threads(b.lane, n, 4);
    b.threads(b.lane, k, 2);
    b.threads(b.lane, n, 4);
  } else {
    const int64_t alongK =
        std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(shape[k] / 8, 1, 8)));
    b.threads(b.lane, k, alongK);
    b.threads(b.lane, n, 32 / alongK);
  }
  b.warps(n, filled);
  b.repeat(n);
  b.repeat(k);
  return b.done().withWarps(numWarps);
}

/// Bits 0 to 2 of a fragment's row are lane bits, bit 3 is a register, the next ones are the warps',
/// and those after them number instructions. Registers take the lowest bits, for vectors of rows.
///
/// Two rows: a half warp loads vectors of 4 columns and 4 pairs of rows, in elements of 32 bits: for
/// columns apart by 64 bytes with that swizzle, pairs next to each other and pairs 8 rows apart are
/// in different banks, those 4 rows apart are not (SharedLayoutTest: AdjacentRowsReadWithoutConflicts).
///
/// Four rows, in bytes: a warp loads 4 columns and 8 words of rows. The swizzle of 128 bytes moves the
/// 16 bytes of a column that 4 words fill by the column's number, so the further 4 are 64 bytes apart.
LinearLayout LinearLayout::withAdjacentRows(int count) const {
  if (count == 1)
    return *this;
  const int m = rank() - 2;
  llvm::SmallVector<int> placeOf{1, 3, 2, 0};
  if (count == 4) {
    int nextBlock = 4; // the lowest bit of rows above the warps', a register's
    for (const Coord &basis : warpBases)
      nextBlock += basis[m] != 0;
    placeOf = {2, 3, 6, 0, 4, 5};
    for (int bit = 6; bit < nextBlock; ++bit)
      placeOf.push_back(bit + 1);
    placeOf.push_back(1);
  }
  auto moved = [&](Bases bases) {
    for (Coord &basis : bases)
      for (auto [bit, place] : llvm::enumerate(placeOf))
        if (basis[m] == 1 << bit) {
          basis[m] = 1 << place;
          break;
        }
    return bases;
  };
  return LinearLayout(extents, moved(regBases), moved(laneBases), moved(warpBases), warps);
}

} // namespace pantile
