//===- ShareBuffers.h - one buffer for all products that read a load ----------------------===//
// Needs: each product has a buffer of its own for each operand.
// Gives: loops in which a load that feeds several products passes one buffer.
// How:   the buffers of one load hold the same bytes where their types agree: what a product wants
//        transposed is a view. The first one serves, up to its last reader.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Lets each load of `loop`'s own body that is stored to several buffers of one type pass the
/// first.
void shareStagedBuffers(mlir::scf::ForOp loop);

} // namespace pantile
