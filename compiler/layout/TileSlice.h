//===- TileSlice.h - parts of tiles, and their layouts -----------------------------===//
// Needs: a slice with constant bounds, whose extents are powers of two; nothing of MLIR.
// Gives: the layout of a part in which every element stays in its thread, and from which register
//        of which lane each element of a part comes.
// How:   Where the bits of the offset and those of the steps are disjoint (`x[8:16]`, `x[1::2]`),
//        the element number in the whole is that in the part with bits inserted: linear over F2, so
//        bases are mapped like coordinates. Other slices (`x[3:7]`) add with a carry; they are
//        register moves only where neither lanes nor warps run along the dimension.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_TILESLICE_H
#define PANTILE_LAYOUT_TILESLICE_H

#include "layout/LinearLayout.h"

namespace pantile {

/// Element i of the part is element offset + stride * i of the whole, along each dimension.
struct TileSlice {
  using Ints = llvm::SmallVector<int64_t, 4>;
  using Coord = LinearLayout::Coord;
  Ints whole, part, offsets, strides;

  int rank() const { return static_cast<int>(whole.size()); }
  bool isWhole() const { return whole == part; }
  /// Whether the bits of the offset along `dim` and those in which the part counts are disjoint.
  bool isLinear(int dim) const;
  bool isLinear() const;
  /// The bits along `dim` in which elements of the part differ; of a linear slice.
  int64_t countedBits(int dim) const { return strides[dim] * (part[dim] - 1); }

  Coord toWhole(const Coord &inPart) const;
  /// The coordinate in the part, or nothing for an element outside of it.
  std::optional<int64_t> toPart(int dim, int64_t inWhole) const;

  /// The layout of the part in which every element of `layout`, of the whole, stays in its thread.
  /// Lanes and warps that differ only outside of the part become replicas.
  LinearLayout partOf(const LinearLayout &layout) const;
  /// A layout of the whole whose part has `layout`, for a linear slice: other elements are in
  /// further registers.
  LinearLayout wholeOf(const LinearLayout &layout) const;
  /// Whether all lanes and warps of `layout`, of the whole or the part, hold the same indices of
  /// the dimensions along which the slice is not linear.
  bool addsInRegisters(const LinearLayout &layout) const;

  /// A basis of the part as one of the whole.
  Coord embedded(const Coord &basis) const;
  LinearLayout::Bases embedded(const LinearLayout::Bases &bases) const;
  /// A basis of the whole as one of the part: only the bits that the part counts in.
  Coord projected(const Coord &basis) const;
};

/// Where the registers of a part come from, if no shared memory is needed.
struct SliceMoves {
  /// One entry per register of the part: the register of the whole in the same thread.
  std::optional<llvm::SmallVector<int, 16>> registers;
  /// Else, inside a warp: the plan of a conversion, and the bits of register and lane to toggle.
  std::optional<LinearLayout::ShufflePlan> shuffles;
  int reg = 0, lane = 0;

  static SliceMoves of(const TileSlice &slice, const LinearLayout &whole, const LinearLayout &part,
                       unsigned bits);
};

/// For a part that goes through shared memory: what the threads that hold its elements store.
struct SliceStore {
  LinearLayout layout;                  ///< of the part, in the threads that store
  llvm::SmallVector<int, 16> registers; ///< of the whole, in order
  unsigned lanes = 0, warps = 0;        ///< bits of threads that decide
  unsigned lane = 0, warp = 0;          ///< and what they must be

  /// For a linear slice where each bit of the whole has a basis of its own; else nothing.
  static std::optional<SliceStore> of(const TileSlice &slice, const LinearLayout &whole);
};

/// How a thread replaces elements by those of a part that it holds.
struct SliceReplacement {
  struct Register {
    int source = -1;    ///< register of the part; -1: no thread's element is replaced
    int64_t wanted = 0; ///< replaced where the thread's outer bits are these, as a row-major number
  };
  llvm::SmallVector<Register, 16> registers;    ///< one entry per register of the whole
  llvm::SmallVector<int64_t, 8> ofLane, ofWarp; ///< outer bits of each lane bit and warp bit

  /// Nothing where an element of the part is needed in a thread that does not hold it.
  static std::optional<SliceReplacement> of(const TileSlice &slice, const LinearLayout &whole,
                                            const LinearLayout &part);
};

} // namespace pantile

#endif // PANTILE_LAYOUT_TILESLICE_H
