//===- AbsentWarps.h - whether warps that do not exist hold nothing of their own ------------===//
// Needs: a layout of a number of warps that is no power of two (LinearLayout.h).
// Gives: isWarpEmpty and ownersExist, also of layouts that hold some elements of a tile alone.
//===--------------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_ABSENTWARPS_H
#define PANTILE_LAYOUT_ABSENTWARPS_H

#include "layout/LinearLayout.h"

namespace pantile {

/// Whether a warp of the hull is a replica of a lower one, or outside of the shape whatever the
/// register and the lane.
bool isWarpEmpty(const LinearLayout &layout, int warp);

/// No element belongs to an absent warp.
bool ownersExist(const LinearLayout &layout);

} // namespace pantile

#endif // PANTILE_LAYOUT_ABSENTWARPS_H
