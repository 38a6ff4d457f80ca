//===- ProducerPartition.h - split a kernel into a producer and consumer warps ------------===//
// Needs: the operations of a producer are marked with `nv.producer_only`, the number of their warp.
// Gives: an `nv.producer` per warp where it starts, with a copy of what its operations depend on. If
//        that is later than the kernel's start, an `nv.fork_producer` there, and an `nv.dismiss_producer` in
//        each branch that does not come to the producer.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/ProducerStart.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral producerOnly = "nv.producer_only"; // i32, until partitionWarps
} // namespace names

/// Moves the operations marked `nv.producer_only` into the producer partition. False, and nothing
/// is changed, if these need more than scalars and vectors that one warp can compute.
bool partitionWarps(mlir::func::FuncOp function, const ProducerStart &start);

} // namespace pantile
