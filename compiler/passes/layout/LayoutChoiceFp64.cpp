//===- LayoutChoiceFp64.cpp - fp64 fragments that are loaded without bank conflicts ---===//
// Needs: LayoutChoice.h.
// Gives: LayoutChoice::isRowMajor, fp64Order.
// How:   An operand is read from rows of 128 swizzled bytes: row r has its 16-byte chunk c at c ^ r
//        % 8. Accesses of vectors of two elements along K serve 8 lanes at once, 4 of K in 2 rows.
//        Accesses of single elements serve 16 lanes, 4 of K and 4 columns. These are free of
//        conflicts:
//          four adjacent elements of K per thread where K is fastest: lanes of a row access every
//          second chunk, and those of the next row the chunks between;
//          two adjacent elements where K is not fastest: the lanes' rows differ in bits 1 and 2;
//          where K is fastest, too, if the two rows are 4 apart.
//        If the left operand is contiguous along M and the right one along K, one of them needs
//        two accesses instead of one: it is the left one, whose part per warp is smaller.
//===----------------------------------------------------------------------------------===//
#include "passes/layout/LayoutChoice.h"

#include <algorithm>

using namespace mlir;

namespace pantile {

bool LayoutChoice::isRowMajor(Value operand) const {
  bool transposed = false;
  while (Operation *op = operand.getDefiningOp()) {
    if (auto trans = dyn_cast<TransOp>(op)) {
      const ArrayRef<int32_t> order = trans.getOrder();
      const auto rank = static_cast<int32_t>(order.size());
      if (order.back() != rank - 1)
        transposed = !transposed;
      operand = trans.getSrc();
    } else if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
      operand = convert.getSrc();
    } else if (auto load = dyn_cast<LoadOp>(op); load && isa<RankedTensorType>(load.getType())) {
      const Order order = wish(load.getPtr(), load.getMask()).order;
      return (order.front() == static_cast<int>(order.size()) - 1) != transposed;
    } else {
      break;
    }
  }
  return !transposed;
}

Fp64Order LayoutChoice::fp64Order(DotOp dot) const {
  const int64_t k = cast<RankedTensorType>(dot.getLhs().getType()).getShape().back();
  const bool alongK = isRowMajor(dot.getLhs()), alongKOfRight = !isRowMajor(dot.getRhs());
  if (k < 16)
    return {.adjacentK = static_cast<int>(std::max<int64_t>(k / 4, 1))};
  if (alongKOfRight)
    return {.adjacentK = 4};
  return {.adjacentK = 2, .rowsApart = alongK};
}

} // namespace pantile
