//===- RecordPlan.cpp - record what the passes decided, in one place -----------------------===//
// Needs: the IR that is lowered; no later pass decides or changes anything.
// Gives: `nv.plan` on the kernel and on its loops with MMAs or channels, except loops of the
//        producer and the loop over programs. Changes nothing else.
// How:   program map, partitions and shared memory come from the module's attributes, the raster
//        group from `nv.raster_program`, channels from buffers and the operations that fill them.
//        Registers per thread are those that nv-reallocate-registers set, or else the estimate that
//        other passes use, limited to what a thread can have; CTAs per SM follow from them. Kernels
//        without MMAs in loops have no estimate.
//===------------------------------------------------------------------------------------===//
#include "analysis/CtasPerSm.h"
#include "analysis/EngineCycles.h"
#include "analysis/LoopChannels.h"
#include "analysis/Programs.h"
#include "ir/Launch.h"
#include "ir/LoopSchedule.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/WorkSplit.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_RECORDPLAN
#include "passes/Passes.h.inc"
namespace {

bool hasMmas(scf::ForOp loop) {
  bool found = false;
  forEachInIteration(
      loop, [&](Operation *op) { found |= isa<nv::AsyncMmaOpInterface, nv::FmaOp, DotOp>(op); });
  return found;
}

struct Programs {
  nv::ProgramMap map = nv::ProgramMap::Grid;
  unsigned of = 1, rasterGroup = 0;
};

Programs programsOf(ModuleOp module) {
  Programs programs;
  const Launch launch = Launch::of(module);
  if (launch.partialBytes > 0)
    programs.map = nv::ProgramMap::StreamK;
  else if (launch.persistent)
    programs.map = nv::ProgramMap::Persistent;
  else if ((programs.of = launch.ctasPerProgram) > 1)
    programs.map = nv::ProgramMap::Cluster;
  else if ((programs.of = launch.programsPerCta) > 1)
    programs.map = nv::ProgramMap::Packed;
  module.walk([&](nv::RasterProgramOp order) { programs.rasterGroup = order.getGroup(); });
  return programs;
}

SmallVector<nv::PartitionAttr> partitionsOf(ModuleOp module) {
  MLIRContext *context = module.getContext();
  const Launch launch = Launch::of(module);
  const unsigned warps = moduleInt(module, names::numWarps, 4), extra = launch.producerWarps;
  if (extra == 0)
    return {nv::PartitionAttr::get(context, nv::Role::All, warps, 0)};
  const unsigned ofProducer = launch.registers ? launch.registers->ofProducer : 0,
                 ofConsumer = launch.registers ? launch.registers->ofConsumers : 0;
  bool hasHelper = false;
  module.walk([&](nv::HelperWarpOp) { hasHelper = true; });
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
    const Launch launch = Launch::of(module);
    const int64_t warps = moduleInt(module, names::numWarps, 4) + launch.producerWarps,
                  shared = launch.sharedBytes, registers = predictedRegisters(kernel, warps);
    const int64_t ctas = machineOf(module).ctasPerSm(
        {.warps = warps, .registersOfThread = registers, .sharedBytes = shared});
    kernel->setAttr(names::plan, nv::KernelPlanAttr::get(&getContext(), programs.map, programs.of,
                                                         programs.rasterGroup, partitionsOf(module),
                                                         shared, ctas, registers));
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
    loop->setAttr(names::plan,
                  nv::LoopPlanAttr::get(&getContext(), channels, mmasInFlight(loop),
                                        busiest.cycles / copiesIn(loop), busiest.limiter));
  }

  /// Registers per thread at launch, as far as passes estimate them; 0 where they do not.
  int64_t predictedRegisters(func::FuncOp kernel, int64_t warps) {
    ModuleOp module = getOperation();
    const Launch launch = Launch::of(module);
    if (launch.registers)
      return launch.registers->atLaunch;
    const int64_t estimate = registersOfMmas(kernel);
    const SmLimits &sm = machineOf(module).sm;
    // SM partitions that get one warp more than others must hold its registers, too.
    const int64_t threads = llvm::alignTo(warps, sm.partitions) * InstructionSet::warpThreads;
    const int64_t most =
        machineOf(module).registersOfThread(threads, std::max<int64_t>(launch.ctasPerSm, 1));
    const int64_t whole = llvm::alignTo(estimate, sm.registerUnit);
    return std::min(maxRegisters > 0 ? std::min<int64_t>(most, maxRegisters) : most, whole);
  }
};

} // namespace
} // namespace pantile
