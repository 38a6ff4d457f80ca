//===- ProducerSlice.h - split a kernel into what the producer does and the rest ----------===//
// Needs: operations that only one side does are marked.
// Gives: an `nv.producer` at the kernel's start with a copy of what its operations need.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral producerOnly = "nv.producer_only"; // unit, until the roles are split
} // namespace names

/// False if the producer would need more than scalars.
bool splitRoles(mlir::func::FuncOp function);

} // namespace pantile
