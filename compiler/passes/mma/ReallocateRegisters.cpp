//===- ReallocateRegisters.cpp - setmaxnreg: registers of the producer go to consumers --------===//
// Needs: all earlier passes ran: circular buffers and the size of shared memory are final.
// Gives: `registers` of `nv.launch` (per thread: at launch, of the producer, of consumers) if loops
//        need more registers than every warp can have; the producer then becomes a whole warp
//        group.
// How:   a consumer thread needs the accumulators, the left operands and the carried tiles of its
//        largest loop, and some for addresses. The largest number of CTAs per SM is chosen whose
//        registers and shared memory suffice. For one CTA it is enough that the tiles that are live
//        at once fit. A producer whose warps copy vectors keeps more than others where consumers
//        can do without these: its warps compute addresses, and a slow one holds the consumers up.
//===------------------------------------------------------------------------------------===//
#include "analysis/LiveRegisters.h"
#include "analysis/RegisterBudget.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REALLOCATEREGISTERS
#include "passes/Passes.h.inc"

namespace {
/// Whether warps of a producer compute addresses of what they copy.
bool copiesVectors(ModuleOp module) {
  return findOp(module, [](Operation *op) {
    return isa<nv::CopyAsyncOp>(op) && op->getParentOfType<nv::ProducerOp>();
  });
}

/// The most registers of a producer that consumers can do without, if they need `needed`.
int64_t mostOfProducer(const RegisterBudget &budget, int64_t ctas, int64_t needed) {
  int64_t most = budget.machine.registers.ofCopyingProducer;
  while (most > budget.producer && budget.consumer(ctas, most) < budget.consumer(ctas) &&
         budget.consumer(ctas, most) < needed)
    most -= budget.machine.sm.registerUnit;
  return std::max(most, budget.producer);
}

struct ReallocateRegistersPass : impl::ReallocateRegistersBase<ReallocateRegistersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    Launch launch = Launch::of(module);
    if (!target || !target->hasSetMaxRegisters() || launch.producerWarps == 0)
      return markAllAnalysesPreserved();
    int64_t needed = 0, live = 0, accumulatorOfMma = 0;
    module.walk([&](nv::AsyncMmaOpInterface mma) {
      accumulatorOfMma = std::max<int64_t>(accumulatorOfMma, mma.getMma().getN() / 2);
    });
    module.walk([&](scf::ForOp loop) {
      if (loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty())
        return;
      needed = std::max(needed, registersOfLoop(loop));
      live = std::max(live, liveRegistersOf(loop));
    });
    const int warps = moduleInt(module, names::numWarps, 4);
    const MachineModel &machine = target->machine();
    const int64_t shared = launch.sharedBytes + machine.sm.sharedReserve;
    const RegisterBudget budget{machine, warps};
    auto allows = [&](int64_t ctas) {
      // ptxas requires that the accumulator of each instruction fits into the registers at launch.
      // The limit is one reserve less than the shared memory of an SM: it was fitted so.
      return ctas * shared <= machine.sm.sharedBytesOfCta &&
             accumulatorOfMma + machine.registers.overheadOfLoop <= budget.launch(ctas);
    };
    int64_t ctas = machine.occupancy.ctasWithSetmaxnreg;
    while (ctas > 0 && !(allows(ctas) && needed <= budget.consumer(ctas)))
      --ctas;
    // Not all tiles of the loop are live at once. Three consumer warp groups have 128 registers per
    // thread at launch and 160 after setmaxnreg (two have 168 at launch). An estimate beyond 160 is
    // no reason to stay at 128.
    const bool mayFit = live <= budget.consumer(1) || !llvm::isPowerOf2_32(warps);
    if (ctas == 0 && mayFit && allows(1))
      ctas = 1;
    if (ctas == 0 || std::min(needed, budget.consumer(ctas)) <= budget.launch(ctas))
      return;
    const int64_t producer =
        copiesVectors(module) ? mostOfProducer(budget, ctas, needed) : RegisterBudget::producer;
    launch.registers = {static_cast<int32_t>(budget.launch(ctas)), static_cast<int32_t>(producer),
                        static_cast<int32_t>(budget.consumer(ctas, producer))};
    launch.producerWarps = budget.producerWarps;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
