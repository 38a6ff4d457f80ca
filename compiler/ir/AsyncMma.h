//===- AsyncMma.h - dots that run on asynchronous tensor cores -----------------------------===//
// Needs: dots with their instruction (tile-select-mma).
// Gives: whether a dot is issued and waited for (AsyncMmaOpInterface), and the operation that issues
//        it. Passes after the selection query this, and name no instruction.
//===---------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {

/// Whether `mma`, which may be null, is issued by one operation and waited for by another.
bool isAsync(MmaAttr mma);

/// Issues `dot` with these operands before it: a tile or a buffer, and a buffer.
nv::AsyncMmaOpInterface issueAsync(mlir::OpBuilder &builder, DotOp dot, mlir::Value left,
                                   mlir::Value right);

} // namespace pantile
