//===- TmaBoxes.cpp - the boxes by which TMA fills a buffer --------------------------------===//
// Needs: TmaBoxes.h.
// Gives: tmaBoxes.
//===--------------------------------------------------------------------------------------===//
#include "layout/TmaBoxes.h"

#include "support/MachineModel.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace pantile {
namespace {

constexpr int64_t most = InstructionSet::boxExtent;

/// Rows of the largest box that divides `rows` such that the next box begins where a swizzle's
/// pattern does, and at a multiple of 128 bytes (PTX ISA, cp.async.bulk.tensor); 0 if there is
/// none.
int64_t rowsOfBox(int64_t rows, const SharedLayout &shared) {
  if (rows <= most)
    return rows;
  const int64_t unit = std::max(shared.alignment(), InstructionSet::lineBytes);
  for (int64_t count = llvm::divideCeil(rows, most); count < rows; ++count)
    if (rows % count == 0 && rows / count * shared.rowBytes() % unit == 0)
      return rows / count;
  return 0;
}
} // namespace

std::optional<TmaBoxes> tmaBoxes(const SharedLayout &shared) {
  const LinearLayout::Shape &shape = shared.shape();
  const SharedLayout::Order &order = shared.order();
  const int64_t columns = shared.rowBytes() * 8 / shared.elementBits();
  TmaBoxes boxes{{columns}, {}};
  for (int dim : llvm::ArrayRef<int>(order).drop_front())
    boxes.sizes.push_back(shape[dim]);
  if (columns > most || columns * shared.panels() != shape[order[0]])
    return std::nullopt;
  if (shape.size() == 2)
    boxes.sizes[1] = rowsOfBox(shape[order[1]], shared);
  // Rows of further dimensions are consecutive.
  for (size_t i = 1; i < shape.size(); ++i)
    if (boxes.sizes[i] == 0 || boxes.sizes[i] > most ||
        (i + 1 < shape.size() && !llvm::isPowerOf2_64(boxes.sizes[i])))
      return std::nullopt;
  const int64_t rows = shape.size() == 2 ? shape[order[1]] : 1,
                step = shape.size() == 2 ? boxes.sizes[1] : 1;
  for (int64_t panel = 0; panel < shared.panels(); ++panel)
    for (int64_t row = 0; row < rows; row += step)
      boxes.places.push_back(
          {panel * columns, row, panel * shared.panelBytes() + row * shared.rowBytes()});
  return boxes;
}

} // namespace pantile
