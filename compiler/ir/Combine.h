//===- Combine.h - the operation by which a reduction combines elements -------------------===//
// Needs: a `tile.reduce` of one tile.
// Gives: whether its region is a single operation of these types.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {

/// Whether `op` reduces one tile by one of `Ops`.
template <typename... Ops> bool combinesBy(ReduceOp op) {
  mlir::Block &block = op.getCombine().front();
  return op.getSrcs().size() == 1 && block.getOperations().size() == 2 &&
         mlir::isa<Ops...>(block.front());
}

} // namespace pantile
