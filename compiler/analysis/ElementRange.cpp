//===- ElementRange.cpp - which integers the elements of a tile can be ----------------------===//
// Gives: see ElementRange.h.
//===------------------------------------------------------------------------------------===//
#include "analysis/ElementRange.h"
#include "ir/Tile.h"

using namespace mlir;

namespace pantile {
namespace {

/// How many operations before a value are looked at: an unpacked weight is a shift, a mask, a
/// difference and some moves.
constexpr int mostOperations = 8;

bool onlyMoves(Operation *op) {
  return isa<SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, JoinOp, ConvertLayoutOp>(op);
}

ConstantIntRanges rangeWithin(Value value, int operations) {
  const unsigned width = elementTypeOf(value.getType()).getIntOrFloatBitWidth();
  const auto any = ConstantIntRanges::maxRange(width);
  Operation *op = value.getDefiningOp();
  auto inferable = dyn_cast_or_null<InferIntRangeInterface>(op);
  if (!op || operations == 0 || (!inferable && !onlyMoves(op)))
    return any;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    if (!elementTypeOf(operand.getType()).isInteger())
      return any;
    operands.push_back(rangeWithin(operand, operations - 1));
  }
  ConstantIntRanges result = any;
  if (inferable)
    inferable.inferResultRanges(operands, [&](Value, const ConstantIntRanges &r) { result = r; });
  else
    for (result = operands[0]; const ConstantIntRanges &operand : ArrayRef(operands).drop_front())
      result = result.rangeUnion(operand);
  return result;
}
} // namespace

ConstantIntRanges rangeOfElements(Value value) { return rangeWithin(value, mostOperations); }

} // namespace pantile
