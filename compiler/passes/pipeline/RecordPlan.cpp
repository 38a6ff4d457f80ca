//===- RecordPlan.cpp - what the passes decided, in one place ------------------------------===//
// Needs: the IR that is lowered; nothing decides or changes anything later.
// Gives: `nv.plan` on the kernel, and on loops with MMAs or channels, but a producer's and the one
//        over programs. Changes nothing else.
// How:   program map, partitions and shared memory are read from the module's attributes, the band
//        from `nv.ordered_program`, channels from buffers and what fills them. Registers per thread
//        are those that nv-share-registers settled, or the estimate that passes decide by, at most
//        what a thread may have; CTAs per SM follow from them. Kernels without MMAs in loops have
//        no estimate.
//===------------------------------------------------------------------------------------===//
#include "analysis/EngineCycles.h"
#include "analysis/LoopChannels.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Residency.h"
#include "ir/Machine.h"
#include "ir/PackedPrograms.h"
#include "ir/Registers.h"
#include "ir/SplitPrograms.h"
#include "ir/SpreadRows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_RECORDPLAN
#include "passes/Passes.h.inc"
namespace {

bool hasMmas(scf::ForOp loop) {
  bool found = false;
  forEachInIteration(loop, [&](Operation *op) { found |= isa<nv::WgmmaOp, nv::FmaOp, DotOp>(op); });
  return found;
}

/// The same as for wgmma, but all operands are in registers: those of one dot at a time.
int64_t registersOfDots(scf::ForOp loop) {
  int64_t registers = 0, fragments = 0;
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    if (!isa<BlockArgument>(dot.getAcc()))
      registers += registersOf(dot.getResult());
    fragments = std::max(fragments, registersOf(dot.getLhs()) + registersOf(dot.getRhs()));
  }
  return fragments == 0 ? 0 : registers + fragments + registersWithoutPointers(loop);
}

/// What a loop with MMAs holds; 0 for other loops.
int64_t registersOfMmas(scf::ForOp loop) {
  return loop.getBody()->getOps<nv::WgmmaOp>().empty() ? registersOfDots(loop)
                                                       : registersWithoutPointers(loop);
}

struct Programs {
  nv::ProgramMap map = nv::ProgramMap::Grid;
  unsigned of = 1, band = 0;
};

Programs programsOf(ModuleOp module) {
  Programs programs;
  if (module->hasAttr(names::partialBytes))
    programs.map = nv::ProgramMap::StreamK;
  else if (module->hasAttr(names::persistent))
    programs.map = nv::ProgramMap::Persistent;
  else if ((programs.of = moduleInt(module, names::blocksPerProgram, 1)) > 1)
    programs.map = nv::ProgramMap::Cluster;
  else if ((programs.of = moduleInt(module, names::programsPerBlock, 1)) > 1)
    programs.map = nv::ProgramMap::Packed;
  module.walk([&](nv::OrderedProgramOp order) { programs.band = order.getBand(); });
  return programs;
}

/// Registers at launch, of the producer's warps and of the others'; null where all have the same.
DenseI32ArrayAttr registersByRole(ModuleOp module) {
  return module->getAttrOfType<DenseI32ArrayAttr>(names::registers);
}

SmallVector<nv::PartitionAttr> partitionsOf(ModuleOp module) {
  MLIRContext *context = module.getContext();
  const unsigned warps = moduleInt(module, names::numWarps, 4),
                 extra = moduleInt(module, names::producerWarps, 0);
  if (extra == 0)
    return {nv::PartitionAttr::get(context, nv::Role::All, warps, 0)};
  const auto registers = registersByRole(module);
  const unsigned ofProducer = registers ? registers[1] : 0,
                 ofConsumer = registers ? registers[2] : 0;
  bool hasHelper = false;
  module.walk([&](nv::CourierOp) { hasHelper = true; });
  SmallVector<nv::PartitionAttr> partitions = {
      nv::PartitionAttr::get(context, nv::Role::Producer, extra - hasHelper, ofProducer)};
  if (hasHelper)
    partitions.push_back(nv::PartitionAttr::get(context, nv::Role::Helper, 1, ofProducer));
  partitions.push_back(nv::PartitionAttr::get(context, nv::Role::Consumer, warps, ofConsumer));
  return partitions;
}

struct RecordPlanPass : impl::RecordPlanBase<RecordPlanPass> {
  using RecordPlanBase::RecordPlanBase;

  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp kernel) {
      if (kernel->hasAttr(names::kernel))
        record(kernel);
    });
  }

private:
  void record(func::FuncOp kernel) {
    ModuleOp module = getOperation();
    const Programs programs = programsOf(module);
    const int64_t warps = moduleInt(module, names::numWarps, 4) +
                          moduleInt(module, names::producerWarps, 0),
                  shared = moduleInt(module, names::sharedBytes, 0),
                  registers = predictedRegisters(kernel, warps);
    const int64_t ctas = machineOf(module).ctasPerSm(
        {.warps = warps, .registersOfThread = registers, .sharedBytes = shared});
    kernel->setAttr(names::plan,
                    nv::KernelPlanAttr::get(&getContext(), programs.map, programs.of, programs.band,
                                            partitionsOf(module), shared, ctas, registers));
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->getParentOfType<nv::ProducerOp>() && !loop->hasAttr(names::programs))
        record(loop);
    });
  }

  void record(scf::ForOp loop) {
    const SmallVector<nv::ChannelAttr> channels = channelsOf(loop);
    if (channels.empty() && !hasMmas(loop))
      return;
    const BusiestEngine busiest = busiestEngine(loop, channels);
    loop->setAttr(names::plan, nv::LoopPlanAttr::get(&getContext(), channels, mmasInFlight(loop),
                                                     busiest.cycles, busiest.limiter));
  }

  /// Registers per thread at launch, as far as passes estimate them; 0 where they do not.
  int64_t predictedRegisters(func::FuncOp kernel, int64_t warps) {
    ModuleOp module = getOperation();
    if (const auto registers = registersByRole(module))
      return registers[0];
    int64_t estimate = 0;
    kernel.walk([&](scf::ForOp loop) {
      if (!loop->getParentOfType<nv::ProducerOp>())
        estimate = std::max(estimate, registersOfMmas(loop));
    });
    const SmLimits &sm = machineOf(module).sm;
    const int64_t most = machineOf(module).registersOfThread(warps * InstructionSet::warpThreads,
                                                             moduleInt(module, names::sharedBy, 1));
    const int64_t whole = llvm::alignTo(estimate, sm.registerUnit);
    return std::min(maxRegisters > 0 ? std::min<int64_t>(most, maxRegisters) : most, whole);
  }
};

} // namespace
} // namespace pantile
