//===- HostExpression.h - polynomials that the host evaluates at launch -------------------===//
// Needs: a polynomial of host values (AffineAnalysis::isHostValue).
// Gives: hostExpr: the same as an affine expression of the kernel's arguments.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// `scale` times a polynomial of host values, with a symbol for each argument of `kernel`, and after
/// them one for each extent of the grid.
mlir::AffineExpr hostExpr(mlir::Builder &b, mlir::func::FuncOp kernel, AffineAnalysis &affine,
                          const Polynomial &polynomial, int64_t scale);

} // namespace pantile
