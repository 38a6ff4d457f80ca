//===- Registers.h - 32-bit registers per thread of a tile ---------------------------------===//
// Needs: tiles with layouts.
// Gives: the registers that a tile takes, and whether only MMAs read it.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {
/// 32-bit registers per thread that hold `value`; 0 if it is no tile.
inline int64_t registersOf(mlir::Value value) {
  auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tile ? layoutOf(tile).numPresentRegs() * storageBits(tile.getElementType()) / 32 : 0;
}

/// Whether only MMAs read `tile`, and the waits that keep it in its registers for them.
inline bool isReadByMmasAlone(mlir::Value tile) {
  return llvm::all_of(tile.getUsers(),
                      llvm::IsaPred<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>);
}
} // namespace pantile
