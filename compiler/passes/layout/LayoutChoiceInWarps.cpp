//===- LayoutChoiceInWarps.cpp - store a dot's result without exchange between warps ---===//
// Needs: LayoutChoice.h.
// Gives: LayoutChoice::accessInWarps.
// How:   Elements are exchanged only inside warps (layout/WarpConversion.h), so no warp waits for
//        another. In a warp, vectors come first, then lanes cover 128 bytes of a row, and the
//        remaining lanes further rows.
//===-----------------------------------------------------------------------------------===//
#include "passes/layout/LayoutChoice.h"

#include <algorithm>

using namespace mlir;

namespace pantile {
namespace {

using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

bool runsAlong(const Coord &basis, int dim) {
  for (auto [d, step] : llvm::enumerate(basis))
    if ((step != 0) != (static_cast<int>(d) == dim))
      return false;
  return true;
}

/// A warp's part of a matrix, as bases along its fast dimension and the others; empty where the
/// part has no such form.
struct WarpPart {
  WarpPart(const LinearLayout &layout, int fast) {
    Bases part = layout.reg();
    part.append(layout.lane().begin(), layout.lane().end());
    for (const Coord &basis : part)
      if (runsAlong(basis, fast))
        along.push_back(basis);
      else if (runsAlong(basis, 1 - fast))
        across.push_back(basis);
    if (along.size() + across.size() != part.size())
      along.clear();
    llvm::sort(along);
    llvm::sort(across);
  }

  /// Consecutive elements along the fast dimension.
  int64_t run(int fast) const {
    int64_t length = 1;
    for (const Coord &basis : along)
      if (basis[fast] == length)
        length *= 2;
    return length;
  }

  Bases along, across;
};

/// Takes the first `count` bases, or all.
Bases take(Bases &from, size_t count) {
  count = std::min(count, from.size());
  Bases taken(from.begin(), from.begin() + count);
  from.erase(from.begin(), from.begin() + count);
  return taken;
}

size_t bitsOf(int64_t count) { return llvm::Log2_64(std::max<int64_t>(count, 1)); }

} // namespace

LayoutAttr LayoutChoice::accessInWarps(LayoutAttr from, Value ptr, Value mask) const {
  const LinearLayout own = from.getLinear();
  if (own.rank() != 2 || own.hasPartialRegs() || own.freeBits().any() || !storesInWarps)
    return nullptr;
  const Wish wanted = wish(ptr, mask);
  const int fast = wanted.order.front();
  const auto pointee = cast<PtrType>(elementTypeOf(ptr.getType())).getPointee();
  const int64_t bytes = std::max<int64_t>(storageBits(pointee) / 8, 1);
  WarpPart part(own, fast);
  const int64_t run = std::min(part.run(fast), own.shape()[fast] & -own.shape()[fast]);
  if (part.along.empty() ||
      run * bytes < std::min(machine.memory.leastRowOfWarp, own.shape()[fast] * bytes))
    return nullptr;
  const int64_t width = std::min(wanted.width, run);
  Bases reg = take(part.along, bitsOf(width));
  const size_t lanes = own.lane().size();
  Bases lane =
      take(part.along,
           std::min(lanes, bitsOf(std::min(InstructionSet::lineBytes / bytes, run) / width)));
  lane.append(take(part.across, lanes - lane.size()));
  lane.append(take(part.along, lanes - lane.size()));
  if (lane.size() != lanes)
    return nullptr;
  reg.append(part.along);
  reg.append(part.across);
  return LayoutAttr::get(context, LinearLayout(own.shape(), reg, lane, own.warp(), own.numWarps()));
}

} // namespace pantile
