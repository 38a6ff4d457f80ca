//===- AbsentWarps.cpp - see AbsentWarps.h --------------------------------------------------===//
#include "layout/AbsentWarps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace pantile {

bool isWarpEmpty(const LinearLayout &layout, int warp) {
  if (warp & layout.freeBits().warp)
    return true;
  LinearLayout::Coord bits(layout.rank(), 0);
  for (const LinearLayout::Bases *bases : {&layout.reg(), &layout.lane()})
    for (const LinearLayout::Coord &basis : *bases)
      for (auto [all, b] : llvm::zip(bits, basis))
        all |= b;
  for (auto [extent, c, b] : llvm::zip(layout.shape(), layout.apply(0, 0, warp), bits))
    if ((c & ~b) >= extent)
      return true;
  return false;
}

bool ownersExist(const LinearLayout &layout) {
  return llvm::all_of(llvm::seq(layout.numWarps(), layout.warpHull()),
                      [&](int warp) { return isWarpEmpty(layout, warp); });
}

} // namespace pantile
