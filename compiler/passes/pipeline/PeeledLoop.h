//===- PeeledLoop.h - a loop whose first iteration stands in front of it ------------------===//
// Needs: a loop whose iterations are about to be written in an order of their own.
// Gives: the branch in which it has an iteration, and the loop over all but the first one.
// How:   first iteration, loop over the rest and what is left of the last one stand in the branch
//        and yield there; where there is no iteration, the initial values are the results.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// In front of `loop`, with results like its own; `b` is set to the start of the branch.
mlir::scf::IfOp branchOfIterations(mlir::OpBuilder &b, mlir::scf::ForOp loop);

/// From the second iteration on, carrying `carried`; the body is empty, and lacks its yield. It
/// stands where `b` is, and has `loop`'s attributes.
mlir::scf::ForOp loopOverRest(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::ValueRange carried);

} // namespace pantile
