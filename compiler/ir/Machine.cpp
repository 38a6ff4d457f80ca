//===- Machine.cpp - the machine model of a module's target --------------------===//
// Gives: see Machine.h.
//===--------------------------------------------------------------------------===//
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "support/Target.h"

const pantile::MachineModel &pantile::machineOf(mlir::Operation *op) {
  const auto target = Target::parse(moduleTarget(op));
  return target ? target->machine() : MachineModel::reference();
}
