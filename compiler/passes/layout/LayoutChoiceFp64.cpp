//===- LayoutChoiceFp64.cpp - fp64 fragments that are loaded without bank conflicts ---===//
// Needs: LayoutChoice.h.
// Gives: LayoutChoice::isRowMajor, fp64Order.
// How:   An operand is read from rows of 128 swizzled bytes: row r has its 16-byte chunk c at c ^ r
//        % 8. An access to vectors of two elements along K serves 8 lanes at once: 4 along K in 2
//        rows. An access to single elements serves 16 lanes at once: 4 along K and 4 columns. Three
//        orders have no bank conflicts:
//        1. K is fastest, and a thread has four adjacent elements of K. The lanes of a row access
//           every second chunk, and those of the next row the chunks between.
//        2. K is not fastest, and a thread has two adjacent elements of K. The rows of the lanes
//           then differ in bits 1 and 2.
//        3. K is fastest, a thread has two adjacent elements of K, and the two rows are 4 apart.
//        Both operands have the same number of adjacent elements. If the left operand is contiguous
//        along M and the right one along K, order 1 is for the right operand. The left operand then
//        needs two accesses instead of one: its part per warp is the smaller one.
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
