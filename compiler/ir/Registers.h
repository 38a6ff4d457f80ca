//===- Registers.h - registers that tiles take ---------------------------------------------===//
// Needs: tiles with layouts.
// Gives: what a thread needs for a tile, and whether MMAs alone read it.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {
/// Registers of 32 bits that a thread needs for `value`; 0 for what is no tile.
inline int64_t registersOf(mlir::Value value) {
  auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tile ? layoutOf(tile).numPresentRegs() * storageBits(tile.getElementType()) / 32 : 0;
}

/// True if no ordinary instruction reads `tile`: only MMAs do, and the waits that hold it for them.
inline bool isReadByMmasAlone(mlir::Value tile) {
  return llvm::all_of(tile.getUsers(),
                      llvm::IsaPred<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>);
}
} // namespace pantile
