//===- BufferReaders.h - which products read a staged buffer ------------------------------===//
// Needs: StageOperands ran, which gives each product a buffer of its own for each operand.
// Gives: the uses of a buffer and of its views, and the products that read it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedLoad.h"

namespace pantile {

/// Calls `visit` for each use of `buffer` and of its views; false as soon as a call is.
bool forEachUse(mlir::Value buffer, llvm::function_ref<bool(mlir::OpOperand &)> visit);

struct BufferReader {
  nv::AsyncMmaOpInterface product;
  int operand;         ///< 0: A, 1: B
  mlir::Operation *at; ///< reads the buffer: `product`, or a load of what goes on to it alone
  mlir::Value view;    ///< that it reads, of the operand's shape
};

/// Whether an MMA reads `alloc` rounded to tf32.
bool isRounded(nv::AllocOp alloc);

/// The products that read `alloc`, in the order of their block; empty if anything else reads it, or
/// if they are not all in `block`.
llvm::SmallVector<BufferReader> readersOf(nv::AllocOp alloc, mlir::Block *block);

} // namespace pantile
