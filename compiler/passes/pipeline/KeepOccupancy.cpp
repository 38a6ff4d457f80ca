//===- KeepOccupancy.cpp - no producer where it takes the place of blocks -----------------===//
// Needs: StageOperands ran; MakePersistent and SpecialiseWarps come next.
// Gives: `nv.without_producer` on a module whose products are waited for in the iteration, as those
//        of attention are, where more blocks share a multiprocessor without a producer: then other
//        blocks fill the waits; `ctas_per_sm` of `nv.launch` says how many. Where as many do, several, if sums can
//        be waited for in the next iteration. Also where a block beside a producer has too few
//        registers.
// How:   a producer takes as many registers as four warps at launch, and gives back what it can. A
//        thread's registers are estimated from the tiles that its loops hold, a block's shared
//        memory from the slots of its rings and the operands that loops read. Without a producer the
//        tiles have all registers: the few that addresses need beside them are computed anew.
//===------------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Residency.h"
#include "analysis/StagedLoad.h"
#include "ir/Candidates.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/CarriedSum.h"
#include "passes/pipeline/FedLoops.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_KEEPOCCUPANCY
#include "passes/Passes.h.inc"
namespace {

/// What a block of the kernel takes, as far as its loops with staged loads tell.
struct Demand {
  int64_t registers = 0, ofVectors = 0, ringBytes = 0, otherBytes = 0;
  bool isWaitedFor = false;   ///< some product's sum is needed before the iteration ends
  bool carriesSums = false;   ///< others can end in the next one
  std::optional<Location> at; ///< of the first loop
};

bool isSummed(nv::AsyncMmaOpInterface product, scf::ForOp loop) {
  auto isYielded = [&](Operation *user) { return user == loop.getBody()->getTerminator(); };
  return product.getAcc().getDefiningOp() == nullptr &&
         llvm::all_of(product->getUsers(), [&](Operation *user) {
           return isa<nv::MmaWaitOpInterface>(user) && llvm::all_of(user->getUsers(), isYielded);
         });
}

/// What is loaded into registers in each iteration.
int64_t registersOfVectors(scf::ForOp loop) {
  int64_t registers = 0;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (llvm::none_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp>))
      registers += registersOf(load.getResult());
  return registers;
}

/// Those that only go into buffers.
SmallVector<LoadOp> stagedLoads(scf::ForOp loop) {
  return llvm::to_vector(llvm::make_filter_range(loop.getBody()->getOps<LoadOp>(), [](LoadOp load) {
    return !load->use_empty() && llvm::all_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp>);
  }));
}

/// A slot for each staged load; those of several products become one.
int64_t slotBytesOf(scf::ForOp loop) {
  int64_t bytes = 0;
  for (LoadOp load : stagedLoads(loop))
    bytes += cast<nv::LocalStoreOp>(*load->user_begin()).getBuffer().getType().getSlotBytes();
  return bytes;
}

/// Without a producer the threads copy themselves, which is worth no block in small pieces or with
/// masks, as those of descriptors are; to the copy engine both are all the same.
bool areCopiesPlain(ModuleOp module) {
  const int64_t fewBytes = machineOf(module).memory.leastCopy;
  AxisInfoAnalysis axes(module);
  auto isCostly = [&](LoadOp load) {
    auto tile = cast<RankedTensorType>(load.getType());
    return load.getMask() || axes.accessWidth(load.getPtr(), Value(), layoutOf(tile)) *
                                     storageBits(tile.getElementType()) <
                                 8 * fewBytes;
  };
  auto end = module.walk([&](scf::ForOp loop) {
    const bool multiplies = !loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty();
    return multiplies && llvm::any_of(stagedLoads(loop), isCostly) ? WalkResult::interrupt()
                                                                   : WalkResult::advance();
  });
  return !end.wasInterrupted();
}

void addLoop(Demand &demand, scf::ForOp loop) {
  const int64_t slotBytes = slotBytesOf(loop);
  auto products = loop.getBody()->getOps<nv::AsyncMmaOpInterface>();
  if (slotBytes == 0 || products.empty())
    return;
  demand.at = demand.at ? demand.at : loop.getLoc();
  demand.ringBytes = std::max(demand.ringBytes, stagesOf(loop) * slotBytes);
  demand.registers = std::max(demand.registers, registersWithoutPointers(loop));
  demand.ofVectors = std::max(demand.ofVectors, registersOfVectors(loop));
  demand.isWaitedFor |= llvm::any_of(
      products, [&](nv::AsyncMmaOpInterface product) { return !isSummed(product, loop); });
  demand.carriesSums |= !findAddedSums(loop).empty();
}

Demand demandOf(ModuleOp module) {
  Demand demand;
  module.walk([&](scf::ForOp loop) { addLoop(demand, loop); });
  module.walk([&](nv::AllocOp alloc) {
    if (!alloc->getParentOfType<scf::ForOp>())
      demand.otherBytes += alloc.getType().getSlotBytes();
  });
  return demand;
}

int64_t blocksByShared(const Demand &demand, int64_t barriers, const Target &target) {
  return target.machine().ctasByShared(demand.ringBytes + demand.otherBytes + barriers);
}

int64_t blocksAlone(const Demand &demand, int warps, const Target &target) {
  const MachineModel &machine = target.machine();
  const int64_t most = machine.sm.registersOfThread;
  if (demand.registers - machine.registers.besideLoop + demand.ofVectors > most)
    return 1;
  return std::min(blocksByShared(demand, 0, target),
                  machine.ctasByRegisters(std::min(demand.registers, most), warps));
}

/// None where a block alone has more registers, and needs them.
int64_t blocksWithProducer(const Demand &demand, int warps, const Target &target) {
  const MachineModel &machine = target.machine();
  const RegisterBudget budget{machine, warps};
  const int64_t most = std::max(budget.consumer(1), budget.launch(1));
  if (demand.registers > most &&
      most < machine.registersOfThread(InstructionSet::warpThreads * warps))
    return 0;
  return budget.mostCtas(demand.registers,
                         blocksByShared(demand, machine.occupancy.barriersOfCta, target));
}

struct KeepOccupancyPass : impl::KeepOccupancyBase<KeepOccupancyPass> {
  using KeepOccupancyBase::KeepOccupancyBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    const int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasAsyncMma() || warps % 4 != 0)
      return;
    const Demand demand = demandOf(module);
    if (!demand.isWaitedFor)
      return;
    const int64_t alone = blocksAlone(demand, warps, *target);
    const int64_t with = blocksWithProducer(demand, warps, *target);
    for (func::FuncOp kernel : module.getOps<func::FuncOp>())
      for (const bool producer : {false, true})
        addCandidate(kernel, {.producer = producer,
                              .sharedBytes = demand.ringBytes + demand.otherBytes,
                              .ctasPerSm = producer ? with : alone});
    const bool carriesSums = demand.carriesSums && this->carriesSums;
    if (alone + (carriesSums && alone > 1) <= with || !areCopiesPlain(module))
      return;
    module->setAttr(names::withoutProducer, UnitAttr::get(&getContext()));
    if (alone > 1) {
      Launch launch = Launch::of(module);
      launch.ctasPerSm = alone;
      launch.storeOn(module);
    }
    InFlightDiagnostic remark = remarkMissed(*demand.at, Technique::WarpSpecialisation);
    if (alone == with)
      remark << "warps are not specialised: as many blocks have room without a producer, and sums "
                "end in the next iteration";
    else if (with > 0)
      remark << "warps are not specialised: " << alone
             << " blocks fill each other's waits, and a producer leaves room for " << with;
    else
      remark << "warps are not specialised: a producer leaves too few registers";
  }
};
} // namespace
} // namespace pantile
