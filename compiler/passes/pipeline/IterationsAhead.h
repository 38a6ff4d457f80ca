//===- IterationsAhead.h - whether a loop has an iteration some steps later ---------------===//
// Needs: a loop of which passes copy or load for iterations before their turn.
// Gives: the distance of so many iterations, and the conditions that they exist.
// How:   a counter plus some steps may lie beyond the integers, and so may the bound minus the
//        counter, if both are signed. So what is left up to the bound is compared, as an unsigned
//        number, which is exact wherever the iteration at the counter exists; a distance that has
//        more bits than the counter is taken as the largest unsigned number, which is never less
//        than what is left.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// How far apart counters are that `iterations` lie between.
mlir::Value distanceOf(mlir::OpBuilder &b, mlir::scf::ForOp loop, int iterations);

/// Whether there is an iteration `distance` behind the one at `counter`, which exists.
mlir::Value existsBehind(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::Value counter,
                         mlir::Value distance);

/// Whether there is an iteration `distance` behind the first one, which need not exist.
mlir::Value existsFromStart(mlir::OpBuilder &b, mlir::scf::ForOp loop, mlir::Value distance);

} // namespace pantile
