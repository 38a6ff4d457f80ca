//===- Registers.h - 32-bit registers per thread of a tile ---------------------------------===//
// Needs: tiles with layouts.
// Gives: the registers that a tile takes.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {
/// 32-bit registers per thread that hold `value`; 0 if it is no tile.
inline int64_t registersOf(mlir::Value value) {
  auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tile ? layoutOf(tile).numPresentRegs() * storageBits(tile.getElementType()) / 32 : 0;
}
} // namespace pantile
