//===- LaterIterations.h - whether a loop has an iteration some steps later ---------------===//
// Needs: a loop for whose later iterations a pass issues copies or loads.
// Gives: the distance of a number of iterations, and the condition that an iteration at that
//        distance exists.
// How:   induction variable plus distance may overflow, and so may upper bound minus induction
//        variable, as a signed number. So upper bound minus induction variable is compared as an
//        unsigned number, which is exact wherever the current iteration exists. A distance that
//        does not fit the type is taken as the largest unsigned number, which no difference
//        exceeds.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// The difference of the induction variable over `iterations` iterations.
mlir::Value distanceOf(mlir::OpBuilder &b, mlir::scf::ForOp loop, int iterations);

/// Whether `loop` has an iteration.
mlir::Value hasIterations(mlir::OpBuilder &b, mlir::scf::ForOp loop);

/// Whether there is an iteration `distance` after the one at `counter`, which exists.
mlir::Value existsAfter(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::Value counter,
                        mlir::Value distance);

/// Whether there is an iteration `distance` after the first one, which need not exist.
mlir::Value existsFromStart(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::Value distance);

} // namespace pantile
