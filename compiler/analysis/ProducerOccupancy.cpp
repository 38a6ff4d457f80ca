//===- ProducerOccupancy.cpp - see ProducerOccupancy.h ------------------------------------===//
// How:   a producer takes as many registers as four warps at launch, and gives back what setmaxnreg
//        allows. Registers per thread are estimated from the tiles that are live in loops, shared
//        memory per CTA from the stages of their loads and the operands that loops read. Without a
//        producer the tiles may take all registers: the few for addresses are rematerialised.
//===------------------------------------------------------------------------------------===//
#include "analysis/ProducerOccupancy.h"
#include "analysis/AxisInfo.h"
#include "analysis/CtasPerSm.h"
#include "analysis/LiveRegisters.h"
#include "analysis/MmaWaits.h"
#include "analysis/RegisterBudget.h"
#include "analysis/SpecialisableLoops.h"
#include "ir/Machine.h"
#include "ir/Registers.h"

using namespace mlir;

namespace pantile {
namespace {

/// What a CTA of the kernel takes, as estimated from its loops with staged loads.
struct Demand {
  int64_t registers = 0, ofVectors = 0, bufferBytes = 0, otherBytes = 0;
  int64_t live = 0;                 ///< registers of the tiles that are live at once
  bool isWaitedFor = false;         ///< some accumulator is read before the iteration ends
  bool carriesAccumulators = false; ///< waits for several others can be deferred by one iteration
  std::optional<Location> at;       ///< of the first loop
};

bool isAccumulated(nv::AsyncMmaOpInterface mma, scf::ForOp loop) {
  auto isYielded = [&](Operation *user) { return user == loop.getBody()->getTerminator(); };
  return mma.getAcc().getDefiningOp() == nullptr &&
         llvm::all_of(mma->getUsers(), [&](Operation *user) {
           return isa<nv::MmaWaitOpInterface>(user) && llvm::all_of(user->getUsers(), isYielded);
         });
}

/// Registers of the tiles that an iteration loads without a buffer.
int64_t registersOfVectors(scf::ForOp loop) {
  int64_t registers = 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (llvm::none_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp>))
      registers += registersOf(load.getResult());
  return registers;
}

void addLoop(Demand &demand, scf::ForOp loop) {
  const int64_t stageBytes = stageBytesOf(findStagedLoads(loop));
  auto mmas = loop.getBody()->getOps<nv::AsyncMmaOpInterface>();
  demand.at = demand.at ? demand.at : loop.getLoc();
  demand.bufferBytes = std::max(demand.bufferBytes, stagesOf(loop) * stageBytes);
  demand.registers = std::max(demand.registers, registersWithoutPointers(loop));
  demand.live = std::max(demand.live, liveRegistersOf(loop));
  demand.ofVectors = std::max(demand.ofVectors, registersOfVectors(loop));
  demand.isWaitedFor |=
      llvm::any_of(mmas, [&](nv::AsyncMmaOpInterface mma) { return !isAccumulated(mma, loop); });
  demand.carriesAccumulators |= carriedMmas(loop).size() > 1;
}

Demand loopDemand(func::FuncOp kernel) {
  Demand demand;
  for (scf::ForOp loop : loadDotLoops(kernel))
    addLoop(demand, loop);
  kernel.walk([&](nv::AllocOp alloc) {
    if (!alloc->getParentOfType<scf::ForOp>())
      demand.otherBytes += alloc.getType().getStageBytes();
  });
  return demand;
}

int64_t ctasByShared(const Demand &demand, int64_t barriers, const Target &target) {
  return target.machine().ctasByShared(demand.bufferBytes + demand.otherBytes + barriers);
}

int64_t ctasWithout(const Demand &demand, int warps, const Target &target) {
  const MachineModel &machine = target.machine();
  const int64_t most = machine.sm.registersOfThread;
  if (demand.registers - machine.registers.overheadOfLoop + demand.ofVectors > most)
    return 1;
  return std::min(ctasByShared(demand, 0, target),
                  machine.ctasByRegisters(std::min(demand.registers, most), warps));
}

/// CTAs per SM with a producer; 0 where a CTA without one has more registers, and needs them.
int64_t ctasWith(const Demand &demand, int warps, const Target &target) {
  const MachineModel &machine = target.machine();
  const RegisterBudget budget{machine, warps};
  const int64_t most = std::max(budget.consumer(1), budget.launch(1));
  if (demand.live > most && most < machine.registersOfThread(InstructionSet::warpThreads * warps))
    return 0;
  return budget.mostCtas(demand.registers,
                         ctasByShared(demand, machine.occupancy.barriersOfCta, target));
}
} // namespace

std::optional<ProducerOccupancy> producerOccupancy(func::FuncOp kernel) {
  auto target = Target::parse(moduleTarget(kernel));
  const int warps = moduleInt(kernel, names::numWarps, 4);
  if (!target || !target->hasAsyncMma() || warps % InstructionSet::warpsOfGroup != 0)
    return std::nullopt;
  const Demand demand = loopDemand(kernel);
  if (!demand.isWaitedFor)
    return std::nullopt;
  return ProducerOccupancy{.without = ctasWithout(demand, warps, *target),
                           .with = ctasWith(demand, warps, *target),
                           .sharedBytes = demand.bufferBytes + demand.otherBytes,
                           .waitsCanBeDeferred = demand.carriesAccumulators,
                           .at = *demand.at};
}

bool areCopiesPlain(func::FuncOp kernel) {
  const int64_t fewBytes = machineOf(kernel).memory.leastCopy;
  AxisInfoAnalysis axes(kernel);
  auto isCostly = [&](StagedLoad staged) {
    LoadOp load = staged.load;
    auto tile = cast<RankedTensorType>(load.getType());
    return load.getMask() || axes.accessWidth(load.getPtr(), Value(), layoutOf(tile)) *
                                     storageBits(tile.getElementType()) <
                                 8 * fewBytes;
  };
  return llvm::none_of(loadDotLoops(kernel), [&](scf::ForOp loop) {
    return llvm::any_of(findStagedLoads(loop), isCostly);
  });
}

} // namespace pantile
