//===- ShareBuffers.h - one buffer for all MMAs that read a load --------------------------===//
// Needs: each MMA has a buffer of its own for each operand.
// Gives: loops in which a load that several MMAs read is stored into one buffer.
// How:   buffers of one load hold the same bytes if their types agree: a transposed operand is a
//        view. The first buffer stays, and lives until its last reader.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Merges the buffers of one type to which a load of the loop body itself is stored into the first
/// of them.
void shareStagedBuffers(mlir::scf::ForOp loop);

/// The operation that frees `alloc`; null if there is none.
mlir::Operation *deallocOf(nv::AllocOp alloc);

/// Makes the readers of `other` read `kept`, which then lives until the last of them. What is done
/// to `other` before, a store or a rounding, was done to `kept` alike.
void mergeBuffers(nv::AllocOp kept, nv::AllocOp other);

} // namespace pantile
