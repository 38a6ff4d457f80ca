//===- PeeledLoop.h - peel the first iteration of a loop ----------------------------------===//
// Needs: a loop whose iterations a pass is about to rotate.
// Gives: the branch that is taken where the loop has an iteration, and the loop over all but the
//        first.
// How:   the peeled iteration, the loop over the rest and the epilogue go into that branch, which
//        yields the results. Without an iteration the initial values are the results.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Creates, before `loop`, an scf.if that is taken where `loop` has an iteration. Its results have
/// the types of the loop's; `b` is set to the start of the taken branch.
mlir::scf::IfOp branchOfIterations(mlir::OpBuilder &b, mlir::scf::ForOp loop);

/// Creates, at `b`, the loop over all iterations of `loop` but the first, with initial values
/// `carried` and the attributes of `loop`. Its body is empty, without a yield.
mlir::scf::ForOp loopOverRest(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::ValueRange carried);

} // namespace pantile
