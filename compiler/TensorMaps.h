//===- TensorMaps.h - the recipes of a module's tensor maps -------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "pantile/TensorMap.h"

namespace pantile {
/// `expr` over the kernel's `numArgs` launch arguments, and after them the extents of the grid.
HostPolynomial hostPolynomial(mlir::AffineExpr expr, int numArgs);
/// In the order of the kernel's parameters.
std::vector<TensorMapRecipe> tensorMapRecipes(mlir::ModuleOp module);
} // namespace pantile
