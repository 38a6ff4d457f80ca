//===- Programs.cpp - see Programs.h ------------------------------------------------------===//
#include "analysis/Programs.h"
#include "analysis/MotionLegality.h"
#include "ir/FindOps.h"

using namespace mlir;

namespace pantile {

bool synchronises(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return isa<AtomicRmwOp, AtomicCasOp, BarrierOp, AssertOp, PrintOp, SpecialOp, nv::AcquireOp>(
             op) ||
         (isa<InlineAsmOp, ExternCallOp>(op) && !isMemoryEffectFree(op)) ||
         (load && !isStableLoad(load));
}

bool ordersLoads(Operation *op) { return isa<StoreOp>(op) || synchronises(op); }

namespace {
/// The first operation that `value` is computed from for which `wanted` holds.
Operation *findSource(Value value, llvm::function_ref<bool(Operation *)> wanted) {
  Operation *found = nullptr;
  traceBack(value, [&](Value next) {
    Operation *op = next.getDefiningOp();
    found = !found && op && wanted(op) ? op : found;
    return !found;
  });
  return found;
}

} // namespace

Operation *findInBounds(scf::ForOp loop, llvm::function_ref<bool(Operation *)> wanted) {
  for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (Operation *found = findSource(bound, wanted))
      return found;
  return nullptr;
}

Operation *unevenBound(scf::ForOp loop) {
  return findInBounds(
      loop, [](Operation *op) { return isa<ProgramIdOp, LoadOp>(op) || op->getNumRegions() != 0; });
}

func::FuncOp onlyFunction(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  return llvm::hasSingleElement(functions) ? *functions.begin() : func::FuncOp();
}

scf::ForOp programLoop(func::FuncOp kernel) {
  auto loops = kernel.getBody().front().getOps<scf::ForOp>();
  auto it = llvm::find_if(loops, [](scf::ForOp loop) { return loop->hasAttr(names::programs); });
  return it == loops.end() ? scf::ForOp() : *it;
}

Block &programBody(func::FuncOp kernel) {
  scf::ForOp loop = programLoop(kernel);
  return loop ? *loop.getBody() : kernel.getBody().front();
}

} // namespace pantile
