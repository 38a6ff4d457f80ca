//===- BufferReaders.h - which products read a staged buffer, and one buffer for all --------===//
// Needs: StageOperands ran, which gives each product a buffer of its own for each operand.
// Gives: the products that read a buffer; loops in which a load that feeds several products passes
//        one buffer.
// How:   the buffers of one load hold the same bytes where their types agree: what a product wants
//        transposed is a view. The first one serves, up to its last reader.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "passes/pipeline/StagedLoad.h"

namespace pantile {

struct BufferReader {
  nv::WgmmaOp product;
  int operand; ///< 0: A, 1: B
};

/// The products that read `alloc`, in the order of their block; empty if anything else reads it, or
/// if they are not all in `block`.
llvm::SmallVector<BufferReader> readersOf(nv::AllocOp alloc, mlir::Block *block);

/// Lets each load of `loop`'s own body that is stored to several buffers of one type pass the
/// first.
void shareStagedBuffers(mlir::scf::ForOp loop);

} // namespace pantile
