//===- WarpBoxes.h - boxes of a matrix that one warp holds -------------------------===//
// Needs: the layout of a matrix; nothing of MLIR.
// Gives: pieces of it, each held by one warp and a box of consecutive rows and columns, and how a
//        piece is laid out in shared memory: in panels, each of which TMA copies at once.
// How:   A piece has the lowest bits of both coordinates that registers and lanes hold, and all
//        bits of the lanes. Higher bits, of registers and warps, number the pieces.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_WARPBOXES_H
#define PANTILE_LAYOUT_WARPBOXES_H

#include "layout/LinearLayout.h"
#include "layout/SharedLayout.h"

#include <optional>

namespace pantile {

struct WarpBoxes {
  using Registers = llvm::SmallVector<int, 16>;

  LinearLayout layout; ///< of a piece, in one warp
  SharedLayout shared; ///< of a piece; a panel is a box
  /// For each piece the registers that hold it, in the order of `layout`, and where it begins in
  /// warp 0.
  llvm::SmallVector<Registers, 8> regs;
  llvm::SmallVector<LinearLayout::Coord, 8> starts;

  /// Elements of a box along its fast and its slow dimension.
  int64_t fastSize() const { return shared.rowBytes() * 8 / shared.elementBits(); }
  int64_t slowSize() const { return shared.rows(); }
};

/// Rows run along `fast`. Nothing where threads hold replicas, or a warp has no boxes of at least 1
/// KiB.
std::optional<WarpBoxes> warpBoxes(const LinearLayout &layout, int bits, int fast);

} // namespace pantile

#endif // PANTILE_LAYOUT_WARPBOXES_H
