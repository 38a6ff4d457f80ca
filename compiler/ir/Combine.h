//===- Combine.h - the operation by which a reduction combines elements -------------------===//
// Needs: a `tile.reduce` of one tile.
// Gives: whether its region is a single operation of these types on the two elements.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {

/// Whether `op` reduces one tile by one of `Ops`.
template <typename... Ops> bool combinesBy(ReduceOp op) {
  mlir::Block &block = op.getCombine().front();
  mlir::Operation &first = block.front();
  if (op.getSrcs().size() != 1 || block.getOperations().size() != 2 || !mlir::isa<Ops...>(first) ||
      block.back().getOperand(0) != first.getResult(0))
    return false;
  mlir::Value left = first.getOperand(0), right = first.getOperand(1);
  mlir::Value a = block.getArgument(0), b = block.getArgument(1);
  return (left == a && right == b) || (left == b && right == a);
}

} // namespace pantile
