//===- TmaBoxes.h - the boxes by which TMA fills a buffer --------------------------===//
// Needs: where the elements of a tile are in shared memory; nothing of MLIR.
// Gives: equal boxes, each as wide as a panel, that cover the tile, and where each one goes.
// How:   A box has at most 256 elements along a dimension, so more rows are split into as few equal
//        boxes as possible. Each begins where the pattern of a swizzle does.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_TMABOXES_H
#define PANTILE_LAYOUT_TMABOXES_H

#include "layout/SharedLayout.h"

#include <optional>

namespace pantile {

struct TmaBoxes {
  LinearLayout::Shape sizes; ///< elements of a box, fastest dimension first
  struct Place {
    int64_t fast, slow; ///< from the tile's first element, along the two fastest dimensions
    int64_t bytes;      ///< from the buffer's start
  };
  llvm::SmallVector<Place, 8> places;
};

/// Nothing where no such boxes fill `shared`, or where they would load more than its tile.
std::optional<TmaBoxes> tmaBoxes(const SharedLayout &shared);

} // namespace pantile

#endif // PANTILE_LAYOUT_TMABOXES_H
