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
  llvm::DenseSet<Value> left; // several MMAs can read one tile
  for (auto mma : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    if (matchPattern(mma.getAcc(), m_AnyZeroFloat()))
      registers += registersOf(mma.getResult());
    if (!isa<BlockArgument>(mma.getLhs()) && left.insert(mma.getLhs()).second)
      registers += registersOf(mma.getLhs());
  }
  return registers;
}

} // namespace pantile
