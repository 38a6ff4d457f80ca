//===- WarpConversion.h - layout conversions inside each warp ----------------------===//
// Needs: two layouts of one matrix whose bases are single rows or columns.
// Gives: how each warp converts its elements, piece by piece, through a small part of shared
//        memory: no warp waits for another, and the part need not hold the whole tile.
// How:   Register bits that both layouts have in common number the pieces. A piece is a matrix of
//        its own once the unused bits of its coordinates are removed.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_WARPCONVERSION_H
#define PANTILE_LAYOUT_WARPCONVERSION_H

#include "layout/LinearLayout.h"
#include "layout/SharedLayout.h"

namespace pantile {

struct WarpConversion {
  using Registers = llvm::SmallVector<int, 16>;

  LinearLayout from, to; ///< of a piece, in one warp
  SharedLayout shared;   ///< of a piece
  /// For each piece, the registers of the whole that are those of the piece, in order.
  llvm::SmallVector<Registers, 8> fromRegs, toRegs;

  int64_t bytesOfWarp() const { return shared.bytes(); }
};

/// Nothing where an element changes its warp, where threads hold replicas, or for other layouts.
std::optional<WarpConversion> warpConversion(const LinearLayout &from, const LinearLayout &to,
                                             int bits);

} // namespace pantile

#endif // PANTILE_LAYOUT_WARPCONVERSION_H
