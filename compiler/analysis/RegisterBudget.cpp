//===- RegisterBudget.cpp - see RegisterBudget.h ------------------------------------------===//
#include "analysis/RegisterBudget.h"
#include "ir/Machine.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {

int64_t registersOfLoop(scf::ForOp loop) {
  int64_t registers = machineOf(loop).registers.overheadOfLoop;
  for (Value argument : loop.getRegionIterArgs())
    registers += registersOf(argument);
  for (auto product : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    if (matchPattern(product.getAcc(), m_AnyZeroFloat()))
      registers += registersOf(product.getResult());
    if (!isa<BlockArgument>(product.getLhs()))
      registers += registersOf(product.getLhs());
  }
  return registers;
}

} // namespace pantile
