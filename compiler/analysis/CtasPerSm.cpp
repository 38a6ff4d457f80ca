//===- CtasPerSm.cpp - estimate how many CTAs of a kernel fit an SM ----------------===//
// Gives: see CtasPerSm.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/CtasPerSm.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Scratch.h"
#include "analysis/SharedAllocations.h"
#include "ir/Launch.h"
#include "ir/Machine.h"

using namespace mlir;

namespace pantile {
namespace {

/// Registers of a loop with MMAs; 0 for other loops.
int64_t registersOfLoopMmas(scf::ForOp loop) {
  if (!loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty())
    return registersWithoutPointers(loop);
  const int64_t registers = registersOfDots(loop);
  return registers ? registers + registersWithoutPointers(loop) : 0;
}
} // namespace

int64_t registersWithoutPointers(scf::ForOp loop) {
  int64_t registers = registersOfLoop(loop);
  for (Value argument : loop.getRegionIterArgs())
    if (auto tile = dyn_cast<RankedTensorType>(argument.getType()))
      if (isa<PtrType>(tile.getElementType()))
        registers -= registersOf(argument);
  return registers;
}

int64_t bufferBytes(nv::BufferType type) {
  const int64_t alignment = sharedLayoutOf(type).alignment();
  return type.getDepth() * static_cast<int64_t>(llvm::alignTo(type.getStageBytes(), alignment));
}

Operation *lastMma(func::FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  Operation *last = nullptr;
  kernel.walk([&](Operation *op) {
    if (!isa<nv::AsyncMmaOpInterface, DotOp>(op))
      return;
    if (Operation *top = entry.findAncestorOpInBlock(*op); top)
      last = !last || last->isBeforeInBlock(top) ? top : last;
  });
  return last;
}

int64_t scratchWithLiveBuffers(func::FuncOp kernel, bool isPersistent) {
  Block &entry = kernel.getBody().front();
  Operation *last = isPersistent ? nullptr : lastMma(kernel);
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    Operation *top = last ? entry.findAncestorOpInBlock(*op) : nullptr;
    if (!top || !last->isBeforeInBlock(top))
      bytes = std::max(bytes, scratchBytes(op));
  });
  return bytes;
}

int64_t registersOfMmaLoops(func::FuncOp kernel) {
  int64_t registers = 0;
  kernel.walk([&](scf::ForOp loop) {
    if (!loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty())
      registers = std::max(registers, registersWithoutPointers(loop));
  });
  return registers;
}

int64_t registersOfMmas(func::FuncOp kernel) {
  int64_t registers = 0;
  kernel.walk([&](scf::ForOp loop) {
    if (!loop->getParentOfType<nv::ProducerOp>())
      registers = std::max(registers, registersOfLoopMmas(loop));
  });
  return registers;
}

CtaDemand demandOf(func::FuncOp kernel) {
  auto module = kernel->getParentOfType<ModuleOp>();
  CtaDemand demand;
  demand.sharedBytes = scratchWithLiveBuffers(kernel, /*isPersistent=*/!!programLoop(kernel));
  kernel.walk([&](nv::BufferOpInterface reserved) {
    demand.sharedBytes += bufferBytes(reserved.getBuffer().getType());
  });
  demand.registersOfThread = registersOfMmaLoops(kernel);
  demand.warps = moduleInt(module, names::numWarps, 4) + Launch::of(module).producerWarps;
  return demand;
}

bool keepsCtas(func::FuncOp kernel, const SharedChange &change) {
  auto module = kernel->getParentOfType<ModuleOp>();
  const MachineModel &machine = machineOf(kernel);
  CtaDemand before = demandOf(kernel), after = before;
  before.sharedBytes = sharedBytesWith(module, SharedChange());
  after.sharedBytes = sharedBytesWith(module, change);
  return after.sharedBytes <= before.sharedBytes ||
         machine.ctasPerSm(after) >= std::max<int64_t>(machine.ctasPerSm(before), 1);
}

bool hasRoomForStage(scf::ForOp loop, ArrayRef<StagedLoad> loads, int depth) {
  const MachineModel &machine = machineOf(loop);
  auto kernel = loop->getParentOfType<func::FuncOp>();
  CtaDemand demand = demandOf(kernel);
  kernel.walk([&](nv::AllocOp alloc) { // circular buffers of loops are not live together
    if (alloc->getParentOfType<scf::ForOp>())
      demand.sharedBytes -= bufferBytes(alloc.getType());
  });
  demand.sharedBytes += (depth - 1) * stageBytesOf(loads);
  const int64_t before = machine.ctasPerSm(demand);
  demand.sharedBytes += stageBytesOf(loads);
  return demand.sharedBytes <= machine.sm.sharedBytesOfCta && machine.ctasPerSm(demand) == before;
}

int64_t ctasToKeep(const MachineModel &machine, bool third) {
  return third ? machine.occupancy.ctasToKeepOnRequest : machine.occupancy.ctasToKeep;
}

} // namespace pantile
