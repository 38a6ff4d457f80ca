//===- Machine.h - the machine that a module is compiled for -------------------===//
// Needs: an operation of a module.
// Gives: the row of the module's target; MachineModel::reference() where it names none, as texts of
//        tests may.
//===--------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include "support/MachineModel.h"

namespace pantile {

const MachineModel &machineOf(mlir::Operation *op);

} // namespace pantile
