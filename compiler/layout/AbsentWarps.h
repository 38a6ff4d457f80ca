//===- AbsentWarps.h - whether absent warps hold no elements of their own ----------===//
// Needs: a layout whose number of warps is no power of two (LinearLayout.h).
// Gives: isWarpEmpty and ownersExist, also for layouts that hold only some elements of a tile.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_ABSENTWARPS_H
#define PANTILE_LAYOUT_ABSENTWARPS_H

#include "layout/LinearLayout.h"

namespace pantile {

/// Whether a warp of the hull is a replica of a lower one, or outside of the shape for all
/// registers and lanes.
bool isWarpEmpty(const LinearLayout &layout, int warp);

/// Whether no element is held by an absent warp alone.
bool ownersExist(const LinearLayout &layout);

} // namespace pantile

#endif // PANTILE_LAYOUT_ABSENTWARPS_H
