//===- RegisterBudget.cpp - see RegisterBudget.h ------------------------------------------===//
#include "analysis/RegisterBudget.h"
#include "ir/Machine.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {

bool startsFromZero(nv::AsyncMmaOpInterface mma) {
  return matchPattern(mma.getAcc(), m_AnyZeroFloat()) || matchPattern(mma.getAcc(), m_Zero());
}

/// Whether the loop carries the result of `mma` in flight, in the same registers.
static bool isCarriedInFlight(nv::AsyncMmaOpInterface mma) {
  return llvm::any_of(mma->getUsers(), llvm::IsaPred<scf::YieldOp>);
}

int64_t registersOfDots(scf::ForOp loop) {
  int64_t registers = 0, fragments = 0;
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    if (!isa<BlockArgument>(dot.getAcc()))
      registers += registersOf(dot.getResult());
    fragments = std::max(fragments, registersOf(dot.getLhs()) + registersOf(dot.getRhs()));
  }
  return registers + fragments;
}

int64_t registersOfMmaSync(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  int64_t registers = machineOf(loop).registers.overheadOfLoop, fragments = 0;
  for (Value argument : loop.getRegionIterArgs())
    if (!isa<PtrType>(elementTypeOf(argument.getType())))
      registers += registersOf(argument);
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    if (!llvm::is_contained(dot->getUsers(), yield))
      registers += registersOf(dot.getResult());
    const int64_t depth = dot.getLhs().getType().getShape().back(),
                  step = dot.getMma() ? std::min<int64_t>(dot.getMma()->getK(), depth) : depth;
    fragments = std::max(fragments, registersOf(dot.getRhs()) * step / depth);
  }
  return registers + fragments;
}

int64_t registersOfLoop(scf::ForOp loop) {
  int64_t registers = machineOf(loop).registers.overheadOfLoop;
  for (Value argument : loop.getRegionIterArgs())
    registers += registersOf(argument);
  if (!loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty())
    registers += registersOfDots(loop);
  llvm::DenseSet<Value> left; // several MMAs can read one tile
  for (auto mma : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    const bool startsAgain = startsFromZero(mma) || loop.isDefinedOutsideOfLoop(mma.getAcc());
    if (startsAgain && !isCarriedInFlight(mma))
      registers += registersOf(mma.getResult());
    if (!isa<BlockArgument>(mma.getLhs()) && left.insert(mma.getLhs()).second)
      registers += registersOf(mma.getLhs());
  }
  return registers;
}

} // namespace pantile
