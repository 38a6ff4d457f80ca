//===- ProducerPartition.h - split a kernel into a producer and consumer warps ------------===//
// Needs: the operations of the producer are marked with `nv.producer_only`.
// Gives: an `nv.producer` where it starts, with a copy of what its operations depend on. If that is
//        later than the kernel's start, an `nv.fork_producer` there, and an `nv.dismiss_producer` in
//        each branch that does not come to the producer.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/ProducerStart.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral producerOnly = "nv.producer_only"; // unit, until partitionWarps
} // namespace names

/// Moves the operations marked `nv.producer_only` into the producer partition. False, and nothing
/// is changed, if these need more than scalars that one thread can compute.
bool partitionWarps(mlir::func::FuncOp function, const ProducerStart &start);

} // namespace pantile
