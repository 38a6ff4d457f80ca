//===- SpecialiseWarps.h - whether a kernel's loads can go to a warp of their own ---------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace pantile {

namespace names {
/// unit, on the module: its kernel shall have no producer
constexpr llvm::StringLiteral withoutProducer = "nv.without_producer";
} // namespace names

/// Gives the loads of `module`'s kernel to a producer; false, and nothing changed, if it cannot.
bool specialiseWarps(mlir::ModuleOp module);

} // namespace pantile
