//===- LinearLayout.h - which thread holds which element of a tile -----------------===//
// Needs: nothing of MLIR.
// Gives: LinearLayout, its named constructors (blocked, tensor-core fragments) and its algebra.
// How:   See the essay below. Row-major flattening concatenates the bits of a coordinate's entries
//        in one integer, so all algebra is done on integers (F2.h).
//===-------------------------------------------------------------------------------===//
//
// The idea. A tile of 2^a x 2^b elements is distributed over the registers of the threads of a CTA.
// Number the registers of a thread, the lanes of a warp and the warps in binary. Nearly every
// distribution that hardware uses has this property: flipping one bit of (register, lane, warp)
// always flips the same bits of the element's coordinate, for all values of the other bits. So the
// whole map is given by one coordinate per bit, its *basis*, and the element that (register, lane,
// warp) holds is the XOR of the bases of the bits that are set.
//
// Example, the accumulator of mma.m16n8k16, a 16x8 tile with 4 registers per thread:
//     register  (0,1) (8,0)                       two adjacent columns, then 8 rows below
//     lane      (0,2) (0,4) (1,0) (2,0) (4,0)     4 lanes per row, 8 rows
// Register 3 of lane 5 = 0b00101 holds (0,1)^(8,0)^(0,2)^(1,0) = row 9, column 3.
//
// What follows from it, without a case for any named layout:
//   * A zero basis means replication: both values of that bit hold the same element.
//   * A slice (reduction, broadcast) sets one coordinate of every basis to zero.
//   * Transposition permutes the dimensions, reshaping divides the flattened bits differently.
//   * "Which thread holds element x" is a linear system. So is a layout conversion, "which thread of
//     the source layout holds the element that I need". If the lane is the same it is a register
//     move, if the warp is the same it is a shuffle, else it goes through shared memory.
//   * The width of a vector access is a count of leading register bases 1, 2, 4, ...
//
// Extents that are no powers of two. The layout maps to the *hull*, the shape with every extent
// rounded up to a power of two; coordinates outside of the shape are no elements. A register whose
// coordinate is outside in every thread is *absent*: it has a number, but no value, and no
// instructions. So three registers in a row are two register bits, one of whose four combinations
// is absent, and every statement above still holds. A register whose coordinate is outside in some
// threads only is *partial*: there its value is arbitrary, and must not reach memory or another
// element.
//
// Example, 96 elements in 32 lanes:
//     register  (32) (64)     registers 0, 1, 2; register 3 would hold 96 to 127 and is absent
//     lane      (1) (2) (4) (8) (16)
// 100 elements have a partial register 3: lanes 0 to 3 hold 96 to 99.
//
// Numbers of warps that are no powers of two. Warps have as many bits as the next power of two, and
// the numbers past the last warp are absent: 12 warps are four bits, of whose 16 combinations 12
// exist. What absent warps would hold must be outside of the shape or a replica. That is so where
// the highest bits, those of the odd factor, are the highest of a dimension of at most 3/4 of its
// hull, or are zero bases.
//
// Example, 192 rows in 12 warps of 16 rows, three warp groups:
//     warp (16) (32) (64) (128)     warp 8 has row 128; warp 12 would have row 192 and is absent
//
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_LINEARLAYOUT_H
#define PANTILE_LAYOUT_LINEARLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace pantile {

/// How the fragments of an fp64 MMA number rows and K. The instruction allows any order of K that A
/// and B have in common, and any order of rows that A and the accumulator have in common.
struct Fp64Order {
  int adjacentK = 1;      ///< adjacent elements of K per thread: 1, 2 or 4, and at most K / 4
  bool rowsApart = false; ///< lanes 4 apart hold rows 4 apart instead of adjacent ones
  bool operator==(const Fp64Order &) const = default;
};

/// How the fragments of an mma.sync of 16-bit operands number K, columns and rows. The instruction
/// allows any order of K that A and B have in common, any order of columns that B and the
/// accumulator have in common, and any order of rows that A and the accumulator have in common.
/// Orders other than the first are for extents and warps that are powers of two.
struct FragmentOrder {
  int adjacentK = 2;      ///< adjacent elements of K per thread: 2 to K / 4
  int adjacentN = 1;      ///< adjacent columns of B per thread: up to an eighth of a warp's
  bool rowsApart = false; ///< lanes 4 apart hold rows 4 apart instead of adjacent ones
  bool operator==(const FragmentOrder &) const = default;
};

/// A distributed layout of a tile: which element each (register, lane, warp) holds.
class LinearLayout {
public:
  using Shape = llvm::SmallVector<int64_t, 4>;
  using Coord = llvm::SmallVector<int32_t, 4>; // one entry per dimension
  using Bases = llvm::SmallVector<Coord, 8>;   // one basis per bit, least significant first

  /// Every basis has one entry per dimension, inside `shape`. `warps` of the 2^n warps that n bases
  /// count exist, more than half; 0: all.
  LinearLayout(Shape shape, Bases reg, Bases lane, Bases warp, int warps = 0);

  // Of a temporary they are values, which a loop over them keeps alive.
  const Shape &shape() const & { return extents; }
  Shape shape() && { return std::move(extents); }
  /// An extent, rounded up to a power of two.
  static int64_t hullOf(int64_t extent) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
  }
  /// The shape, each extent rounded up to a power of two.
  Shape hull() const;
  int rank() const { return static_cast<int>(extents.size()); }
  const Bases &reg() const & { return regBases; }
  const Bases &lane() const & { return laneBases; }
  const Bases &warp() const & { return warpBases; }
  Bases reg() && { return std::move(regBases); }
  Bases lane() && { return std::move(laneBases); }
  Bases warp() && { return std::move(warpBases); }
  int numRegs() const { return 1 << regBases.size(); }
  int numLanes() const { return 1 << laneBases.size(); }
  int numWarps() const { return warps; }
  /// The number of warps, rounded up to a power of two.
  int warpHull() const { return 1 << warpBases.size(); }

  /// The element held by `reg` of `lane` of `warp`; inside of the hull.
  Coord apply(int reg, int lane, int warp) const;
  /// The same as a row-major element number of the hull.
  int64_t applyFlat(int reg, int lane, int warp) const;

  // Named constructors. For a tile smaller than the pattern, the bits without an element of their
  // own get zero bases (lanes, warps) or are dropped (registers). For a larger tile the pattern
  // repeats, and the repetitions are further register bits.
  //
  // One entry of `warpsPerCta` may be an odd number times a power of two. Then the parts of the odd
  // factor are next to each other, each as long as a half, quarter, ... of the hull (oddPart).

  /// The extent of each of `odd` parts of a dimension: the power of two that remains without the
  /// highest bits of its hull. Nothing where `odd` such parts are less than the extent.
  static std::optional<int64_t> oddPart(int64_t extent, int64_t odd);

  /// `sizePerThread` adjacent elements per thread, then lanes, then warps, each in `order` (fastest
  /// dimension first). The product of `threadsPerWarp` is 32, that of `warpsPerCta` the number of
  /// warps.
  static LinearLayout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizePerThread,
                              llvm::ArrayRef<int64_t> threadsPerWarp,
                              llvm::ArrayRef<int64_t> warpsPerCta, llvm::ArrayRef<int> order);

  /// C and D of every mma.sync.m16n8*: repeats along N first, then M. Warps fill M first. In a tile
  /// with more than two dimensions, the fragments cover the last two; dimensions before them are
  /// repetitions, outermost last.
  static LinearLayout mma16816Accumulator(llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> warpsPerCta,
                                          FragmentOrder order = {});
  /// A (MxK) of mma.sync: m16n8k16 for 16 bits, k8 for 32 (tf32), k32 for 8. `warpsPerCta` is the
  /// accumulator's; repeats along K first, then M, in step with the accumulator.
  static LinearLayout mmaOperandA(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> warpsPerCta, int elementBits,
                                  FragmentOrder order = {});
  /// B (KxN) of the same: repeats along K first, then N.
  static LinearLayout mmaOperandB(llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<int64_t> warpsPerCta, int elementBits,
                                  FragmentOrder order = {});
  /// The fragments of fp64's mma.sync, m16n8k16 or a smaller K, in this order. Two of m8n8k4 per 4
  /// of K are one of m16n8k4. Repeats as above.
  static LinearLayout mmaFp64A(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> warpsPerCta,
                               Fp64Order order);
  static LinearLayout mmaFp64B(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> warpsPerCta,
                               Fp64Order order);
  static LinearLayout mmaFp64Accumulator(llvm::ArrayRef<int64_t> shape,
                                         llvm::ArrayRef<int64_t> warpsPerCta, Fp64Order order);
  /// D of wgmma m64nNk*: four consecutive warps form a warp group that holds 64 rows; groups fill M
  /// first. `warpsPerCta[M]` counts warps, so it is a multiple of 4. Registers of one instruction
  /// are consecutive, repeats go along N first. With a `run`, a power of two, warp groups along N
  /// and repeats are interleaved by so many columns. Two warp groups of 192 columns with n96 and
  /// runs of 32 have columns 0 to 31, 64 to 95, 128 to 159, and those between, since a step of 96
  /// columns is no basis.
  static LinearLayout wgmmaAccumulator(llvm::ArrayRef<int64_t> shape,
                                       llvm::ArrayRef<int64_t> warpsPerCta, int instrN,
                                       int run = 0);
  // Algebra.

  /// The same fragments of A or of an accumulator of wgmma, with rows in another order: 2 or 4 rows
  /// that a thread holds are adjacent, and so are those of lanes that read adjacent 32-bit words; 1
  /// is the order of the PTX manual. Two rows are of one instruction, four of two in a row of them:
  /// then rows and their warps are powers of two.
  /// The instruction allows any order that A and the accumulator have in common.
  LinearLayout withAdjacentRows(int count) const;

  /// The layout of a reduction's result: `dim` is removed, threads that differ only in it become
  /// replicas, and registers that become duplicates are dropped.
  LinearLayout removeDim(int dim) const;
  /// A dimension of extent 1 before position `dim`.
  LinearLayout expandDims(int dim) const;
  /// removeDim, then expandDims: the layout a broadcast along `dim` reads from.
  LinearLayout collapseDim(int dim) const { return removeDim(dim).expandDims(dim); }
  /// Grows extents of 1: every thread holds all copies, in further registers.
  LinearLayout broadcastTo(llvm::ArrayRef<int64_t> shape) const;
  /// Result dimension i is this layout's dimension `perm[i]`.
  LinearLayout transpose(llvm::ArrayRef<int> perm) const;
  /// The same for `count` warps, of which those past the present ones are replicas.
  LinearLayout withWarps(int64_t count) const;
  /// The same row-major element order in another shape; for shapes that `reshapesInPlace`.
  LinearLayout reshape(llvm::ArrayRef<int64_t> shape) const;
  /// Whether tiles of shape `from` have the same element order in the hull as tiles of shape `to`:
  /// in each group of dimensions with one number of elements, all but the outermost extents are
  /// powers of two.
  static bool reshapesInPlace(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);
  /// A last dimension of extent 2 in the lowest register bit: the layout of a join's result.
  LinearLayout appendPairDim() const;
  /// Drops register bits whose elements other registers of the same thread already hold.
  LinearLayout withoutRedundantRegs() const;
  /// The same elements in each thread, renumbered: the register bits that move along `dim` alone
  /// come first, the shortest step first. registerMoves() gives the place of each register.
  LinearLayout regsAlong(int dim) const;

  // Questions.

  /// Every extent is a power of two: no register is absent or partial.
  bool fillsHull() const;
  /// Whether the element of register `reg` is inside the shape in some thread. Where a basis of
  /// threads moves along several dimensions, this may be true for a register that is outside in all
  /// threads.
  bool isPresent(int reg) const;
  /// The same, for any of these registers.
  bool isAnyPresent(int first, int count) const;
  /// Whether the element of register `reg` is outside of the shape in some thread.
  bool isPartial(int reg) const;
  bool hasPartialRegs() const;
  int numPresentRegs() const;
  /// The extents that present registers reach in any thread: at least the shape.
  Shape reach() const;

  /// Whether every element is held by a warp that exists, and all bases are inside the hull.
  bool coversShape() const;
  /// To select one thread among replicas: the bits that must be zero in the selected thread. A bit
  /// is free if lower bits (registers, then lanes, then warps) reach the same elements.
  struct FreeBits {
    unsigned reg = 0, lane = 0, warp = 0;
    bool any() const { return reg | lane | warp; }
  };
  FreeBits freeBits() const;
  /// Where warps are absent: the bits of the warp that are zero in that replica whose partners all
  /// exist. A warp that reads what another one wrote reads from that replica.
  unsigned replicasOfAbsent() const { return warps == warpHull() ? 0 : freeBits().warp; }

  struct Owner {
    int reg, lane, warp;
    bool operator==(const Owner &) const = default;
  };
  /// The register, lane and warp that hold `coord` and whose free bits are zero.
  Owner ownerOf(llvm::ArrayRef<int32_t> coord) const;
  /// The register of the given thread that holds `coord`, if any.
  std::optional<int> registerOf(llvm::ArrayRef<int32_t> coord, int lane, int warp) const;

  /// The vector width of an access with `dim` fastest: the largest power of two of consecutive
  /// registers, from register 0, that hold consecutive elements along `dim`, and that divides its
  /// extent.
  int contiguousRegs(int dim) const;
  /// The fastest dimension: the one along which the first registers, then lanes, run.
  int fastestDim() const;

  // Conversion to another layout of the same shape and threads.

  /// For every register of `to`, the register of this layout with the same element in the same
  /// thread; nothing where no choice is right for all threads.
  std::optional<llvm::SmallVector<int, 16>> registerMoves(const LinearLayout &to) const;
  bool sameThreads(const LinearLayout &to) const { return registerMoves(to).has_value(); }

  /// A conversion inside warps. Register `r` of lane `l` of the result comes from register
  /// `srcReg(r) ^ srcRegOfLane(l)` of lane `srcLane(r) ^ srcLaneOfLane(l)`; both functions of `l`
  /// are XORs over its set bits. Registers that lanes disagree on need one shuffle for each
  /// candidate and a select: 2^regBits candidates, in `regChoices`.
  struct ShufflePlan {
    llvm::SmallVector<int, 16> srcReg, srcLane;            // one entry per result register
    llvm::SmallVector<int, 5> srcRegOfLane, srcLaneOfLane; // one entry per lane bit
    llvm::SmallVector<int, 4> regChoices;                  // values srcRegOfLane can take
    int numShuffles() const { return static_cast<int>(srcReg.size() * regChoices.size()); }
  };
  std::optional<ShufflePlan> shufflePlan(const LinearLayout &to) const;

  /// "shape=[16,8] reg=[[0,1],[8,0]] lane=[[0,2],...] warp=[]"
  std::string str() const;
  bool operator==(const LinearLayout &other) const;
  bool operator!=(const LinearLayout &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const LinearLayout &layout);

private:
  int64_t flatten(llvm::ArrayRef<int32_t> coord) const;
  /// An aligned power of two of warps that all exist: the coordinate of the first warp, and the
  /// bits that its lanes and the other warps add.
  struct WarpBlock {
    Coord start, bits;
  };
  llvm::SmallVector<WarpBlock, 2> warpBlocks() const;
  Coord unflatten(int64_t flat) const;

  Shape extents;
  Bases regBases, laneBases, warpBases;
  int warps;
};

} // namespace pantile

#endif // PANTILE_LAYOUT_LINEARLAYOUT_H
