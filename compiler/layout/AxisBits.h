//===- AxisBits.h - which bits of (register, lane, warp) run along one dimension ---===//
// Needs: a layout each of whose bases moves along one dimension only.
// Gives: the bits that select the element along `dim`, lightest first, without replicas; of a basis
//        of a matrix, where and how far it moves.
// How:   Reductions and scans work bit by bit: a register bit is arithmetic inside the thread, a
//        lane bit is a shuffle, a warp bit goes through shared memory.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "layout/LinearLayout.h"
#include <bit>

namespace pantile {

struct AxisBits {
  enum Where { Reg, Lane, Warp };
  struct Bit {
    Where where;
    int index;      // among the bits of its kind
    int64_t weight; // distance of the two elements
    int mask() const { return 1 << index; }
  };
  llvm::SmallVector<Bit, 12> bits;

  static AxisBits of(const LinearLayout &layout, int dim);
  /// The bits of one kind, as a mask over registers, lanes or warps.
  int mask(Where where) const;
  /// The same, of those lighter than bit `position`.
  int maskBelow(Where where, size_t position) const;
};

/// The dimension along which a basis of a matrix moves, and how far.
inline int dimOf(const LinearLayout::Coord &basis) { return basis[0] != 0 ? 0 : 1; }
inline int64_t stepOf(const LinearLayout::Coord &basis) { return basis[dimOf(basis)]; }
/// Whether a basis of a matrix moves along one dimension only, by a power of two.
inline bool isUnit(const LinearLayout::Coord &basis) {
  return (basis[0] == 0) != (basis[1] == 0) &&
         std::has_single_bit(static_cast<uint32_t>(stepOf(basis)));
}

} // namespace pantile
