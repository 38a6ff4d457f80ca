//===- Machine.h - the machine model of a module's target ----------------------===//
// Needs: an operation of a module.
// Gives: the machine model of the module's target; MachineModel::reference() if it has none, as in
//        tests.
//===--------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include "support/MachineModel.h"

namespace pantile {

const MachineModel &machineOf(mlir::Operation *op);

} // namespace pantile
