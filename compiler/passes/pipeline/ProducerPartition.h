//===- ProducerPartition.h - split a kernel into a producer and consumer warps ------------===//
// Needs: the operations of the producer are marked with `nv.producer_only`.
// Gives: an `nv.producer` at the start of the kernel, with a copy of what its operations depend on.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral producerOnly = "nv.producer_only"; // unit, until partitionWarps
} // namespace names

/// Moves the operations marked `nv.producer_only` into the producer partition. False, and nothing
/// is changed, if these need more than scalars that one thread can compute.
bool partitionWarps(mlir::func::FuncOp function);

} // namespace pantile
