//===- Registers.h - how the registers of a block are shared ------------------------------===//
// Needs: tiles with layouts.
// Gives: the names of the attributes that tell it, and what a tile takes.
// How:   `nv.registers` on the module: registers of a thread at launch, then of the producer's
//        warps and of the others'. `nv.shared_by`: as many blocks shall share a multiprocessor.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile {
namespace names {
constexpr llvm::StringLiteral registers = "nv.registers"; // array<i32: launch, producer, consumer>
constexpr llvm::StringLiteral sharedBy = "nv.shared_by";  // i32
} // namespace names

/// Registers of 32 bits that a thread needs for `value`; 0 for what is no tile.
inline int64_t registersOf(mlir::Value value) {
  auto tile = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return tile ? layoutOf(tile).numRegs() * storageBits(tile.getElementType()) / 32 : 0;
}

/// True if no ordinary instruction reads `tile`: only MMAs do, and the waits that hold it for them.
inline bool isReadByMmasAlone(mlir::Value tile) {
  return llvm::all_of(tile.getUsers(), llvm::IsaPred<nv::WgmmaOp, nv::WgmmaWaitOp>);
}
} // namespace pantile
