//===- HostExpression.cpp - see HostExpression.h ------------------------------------------===//
#include "analysis/HostExpression.h"

using namespace mlir;

namespace pantile {

/// The symbol of an argument, or its quotient; or that of the grid's extent, whose symbols come after
/// those of the arguments. A program id stands for the extent of its axis.
static AffineExpr factorOf(Builder &b, func::FuncOp kernel, Value leaf) {
  if (auto factor = hostFactorOf(leaf))
    return b.getAffineSymbolExpr(factor->argument.getArgNumber()).floorDiv(factor->divisor);
  Operation *op = leaf.getDefiningOp();
  const unsigned axis = isa<ProgramIdOp>(op)     ? cast<ProgramIdOp>(op).getAxis()
                        : isa<NumProgramsOp>(op) ? cast<NumProgramsOp>(op).getAxis()
                                                 : cast<nv::ProgramAtOp>(op).getAxis();
  return b.getAffineSymbolExpr(kernel.getNumArguments() + axis);
}

AffineExpr hostExpr(Builder &b, func::FuncOp kernel, AffineAnalysis &affine,
                    const Polynomial &polynomial, int64_t scale) {
  AffineExpr sum = b.getAffineConstantExpr(0);
  for (const auto &[product, coefficient] : polynomial.products()) {
    AffineExpr term = b.getAffineConstantExpr(coefficient * scale);
    for (unsigned leaf : product)
      term = factorOf(b, kernel, affine.leaf(leaf)) * term;
    sum = sum + term;
  }
  return sum;
}

} // namespace pantile
