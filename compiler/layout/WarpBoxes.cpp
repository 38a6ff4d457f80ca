//===- WarpBoxes.cpp - boxes of a matrix that one warp holds -----------------------===//
// Needs: WarpBoxes.h.
// Gives: warpBoxes.
//===-------------------------------------------------------------------------------===//
#include "layout/WarpBoxes.h"

#include "layout/AxisBits.h"
#include "support/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

namespace pantile {
namespace {

using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

/// What one warp holds of a matrix along one dimension.
struct Extent {
  int64_t least = 1; ///< the least extent that contains all lanes
  int64_t run = 1;   ///< consecutive elements, as many as divide the matrix
};

Extent extentOf(const LinearLayout &layout, int dim) {
  Extent extent;
  llvm::SmallVector<int64_t> steps;
  for (const Coord &basis : llvm::concat<const Coord>(layout.reg(), layout.lane()))
    if (dimOf(basis) == dim)
      steps.push_back(stepOf(basis));
  llvm::sort(steps);
  for (int64_t step : steps)
    if (step == extent.run && layout.shape()[dim] % (2 * step) == 0)
      extent.run *= 2;
  for (const Coord &basis : layout.lane())
    if (dimOf(basis) == dim)
      extent.least = std::max(extent.least, stepOf(basis) * 2);
  return extent;
}

/// Sorts registers whose elements are adjacent along `fast` first, so that vectors hold them.
void sortForVectors(Bases &reg, int bits, int fast) {
  auto key = [&](const Coord &basis) {
    const bool isInVector =
        dimOf(basis) == fast && stepOf(basis) * bits < InstructionSet::vectorBytes * 8;
    return isInVector ? stepOf(basis) : std::numeric_limits<int64_t>::max();
  };
  llvm::stable_sort(reg, [&](const Coord &a, const Coord &b) { return key(a) < key(b); });
}

/// Adds a piece per value of the register bits that are not in `own`, the bits of a piece.
void addPieces(const LinearLayout &whole, const Bases &own, WarpBoxes &boxes) {
  WarpBoxes::Registers inside{0}, outside{0};
  auto add = [&](WarpBoxes::Registers &some, const Coord &basis) {
    const auto bit = llvm::find(whole.reg(), basis) - whole.reg().begin();
    for (size_t i = 0, count = some.size(); i < count; ++i)
      some.push_back(some[i] | 1 << bit);
  };
  for (const Coord &basis : own)
    add(inside, basis);
  for (const Coord &basis : whole.reg())
    if (!llvm::is_contained(own, basis))
      add(outside, basis);
  for (int piece : outside) {
    if (!whole.isPresent(piece))
      continue;
    boxes.regs.push_back(inside);
    for (int &reg : boxes.regs.back())
      reg |= piece;
    boxes.starts.push_back(whole.apply(piece, 0, 0));
  }
}
} // namespace

std::optional<WarpBoxes> warpBoxes(const LinearLayout &layout, int bits, int fast) {
  if (layout.rank() != 2 || layout.hasPartialRegs() || layout.freeBits().any() ||
      !llvm::all_of(layout.reg(), isUnit) || !llvm::all_of(layout.lane(), isUnit) ||
      !llvm::all_of(layout.warp(), isUnit))
    return std::nullopt;
  const Extent along = extentOf(layout, fast), across = extentOf(layout, 1 - fast);
  if (along.least > along.run || across.least > across.run)
    return std::nullopt;
  const MemoryThresholds &limits = MachineModel::reference().memory;
  LinearLayout::Shape shape(2, 0);
  shape[fast] = std::max(along.least, std::min(along.run, InstructionSet::lineBytes * 8 / bits));
  const int64_t rowBytes = shape[fast] * bits / 8;
  shape[1 - fast] =
      std::max(across.least,
               std::min({across.run, InstructionSet::boxExtent, limits.enoughForBox / rowBytes}));
  Bases reg;
  for (const Coord &basis : layout.reg())
    if (stepOf(basis) < shape[dimOf(basis)])
      reg.push_back(basis);
  sortForVectors(reg, bits, fast);
  WarpBoxes boxes{LinearLayout(shape, reg, layout.lane(), {}),
                  SharedLayout::forOperand(shape, bits, {fast, 1 - fast}),
                  {},
                  {}};
  if (boxes.shared.swizzle() == 0 || boxes.shared.panelBytes() < limits.leastBox ||
      shape[1 - fast] > InstructionSet::boxExtent)
    return std::nullopt;
  addPieces(layout, reg, boxes);
  return boxes;
}

} // namespace pantile
