//===- LaunchCycles.cpp - how long a launch is expected to keep the GPU busy -------===//
// Gives: see LaunchCycles.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/LaunchCycles.h"
#include "analysis/CtasPerSm.h"
#include "analysis/ProgramCycles.h"
#include "analysis/ProgramValues.h"
#include "analysis/RegisterBudget.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "support/StreamKModel.h"
#include <cmath>

using namespace mlir;

namespace pantile {
namespace {

/// How programs are distributed over the SMs.
struct Distribution {
  double ctasPerProgram = 1, programsPerCta = 1;
  bool isPersistent = false; ///< the next program's loads hide its start
  bool isStreamK = false;    ///< no SM has more work than another
};

int smsOf(const LaunchShape &launch, const MachineModel &machine) {
  return launch.multiprocessors > 0 ? launch.multiprocessors : machine.sms;
}

double cyclesOf(const ProgramCycles &program, const Distribution &distribution, int64_t ctasPerSm,
                const MachineModel &machine, const LaunchShape &launch) {
  const double sms = smsOf(launch, machine);
  const double mean = programsOf(launch) * distribution.ctasPerProgram / sms;
  const double ofSm = distribution.isStreamK ? mean : std::ceil(mean);
  const double atOnce = ctasPerSm * distribution.programsPerCta, waves = std::ceil(ofSm / atOnce);
  const double start = machine.predictions.tripsToMemory * machine.cycles.globalLoad;
  return ofSm * program.busy + waves * program.waits +
         (distribution.isPersistent ? 1 : waves) * start;
}

/// Registers of the largest loaded tile, without those that are spilled to shared memory.
int64_t registersOfLoads(func::FuncOp kernel, const Launch &launch) {
  int64_t registers = 0;
  kernel.walk([&](LoadOp load) { registers = std::max(registers, registersOf(load.getResult())); });
  const int64_t spilled = launch.spills ? launch.spills->registers : 0;
  return std::max<int64_t>(registers - spilled, 0) + machineOf(kernel).registers.overheadWithoutMma;
}

Distribution distributionOf(nv::KernelPlanAttr plan) {
  Distribution distribution;
  distribution.isStreamK = plan.getMap() == nv::ProgramMap::StreamK;
  distribution.isPersistent = distribution.isStreamK || plan.getMap() == nv::ProgramMap::Persistent;
  if (plan.getMap() == nv::ProgramMap::Cluster)
    distribution.ctasPerProgram = plan.getOf();
  if (plan.getMap() == nv::ProgramMap::Packed)
    distribution.programsPerCta = plan.getOf();
  return distribution;
}

/// 32-bit registers per thread for a tile without a layout; none for pointers.
double registersPerThread(Value value, int64_t threads) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile || isa<PtrType>(tile.getElementType()))
    return 0;
  return double(tile.getNumElements()) * storageBits(tile.getElementType()) / 32 / threads;
}

/// Registers per thread of a loop with dots: what it carries, and accumulators that start at zero.
double registersPerThreadOfLoop(scf::ForOp loop, int64_t threads) {
  double registers = machineOf(loop).registers.overheadOfLoop;
  for (Value argument : loop.getRegionIterArgs())
    registers += registersPerThread(argument, threads);
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (!isa<BlockArgument>(dot.getAcc()))
      registers += registersPerThread(dot.getResult(), threads);
  return registers;
}

/// The demand before layouts: operands of dots have a buffer per stage.
CtaDemand demandOfTiles(func::FuncOp kernel, const LaunchVariant &variant) {
  CtaDemand demand;
  demand.warps = variant.numWarps;
  const int64_t threads = demand.warps * InstructionSet::warpThreads;
  double registers = 0;
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      registers = std::max(registers, registersPerThread(load.getResult(), threads) +
                                          machineOf(op).registers.overheadWithoutMma);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || loop.getBody()->getOps<DotOp>().empty())
      return;
    registers = std::max(registers, registersPerThreadOfLoop(loop, threads));
    int64_t ofLoop = 0;
    for (auto dot : loop.getBody()->getOps<DotOp>())
      for (Value operand : {dot.getLhs(), dot.getRhs()})
        ofLoop += std::llround(registersPerThread(operand, 1) * 4);
    bytes = std::max(bytes, ofLoop);
  });
  demand.registersOfThread = std::llround(registers);
  demand.sharedBytes = bytes * std::max(variant.numStages, 1);
  return demand;
}

/// By how much stream-K makes a launch of `kernel` faster, if the launch chooses it.
double speedupByStreamK(func::FuncOp kernel, const LaunchShape &launch, int64_t ctasPerSm) {
  auto planned = kernel->getAttrOfType<nv::StreamKEstimateAttr>(names::streamKEstimate);
  if (!planned)
    return 1;
  SmallVector<AffineExpr> arguments;
  for (const std::optional<int64_t> &integer : launch.integers)
    arguments.push_back(getAffineConstantExpr(integer.value_or(0), kernel.getContext()));
  const AffineExpr value = planned.getDividend().getResult(0).replaceSymbols(arguments);
  auto dividend = dyn_cast<AffineConstantExpr>(value);
  if (!dividend)
    return 1;
  const MachineModel &machine = machineOf(kernel);
  const int sms = smsOf(launch, machine);
  const double speedup =
      streamKSpeedup(planned.getEstimate({}), machine.memory,
                     {programsOf(launch), dividend.getValue() / planned.getDivisor()},
                     static_cast<int>(sms * ctasPerSm), sms);
  return speedup >= machine.memory.leastStreamKSpeedup ? speedup : 1;
}

/// The prediction without cycles.
LaunchPrediction predictDemand(func::FuncOp kernel, const LaunchVariant &variant) {
  const MachineModel &machine = machineOf(kernel);
  CtaDemand demand = demandOfTiles(kernel, variant);
  const int64_t most = machine.registersOfThread(demand.warps * InstructionSet::warpThreads);
  LaunchPrediction prediction;
  prediction.registers = demand.registersOfThread;
  prediction.spills = demand.registersOfThread > most;
  demand.registersOfThread = std::min(demand.registersOfThread, most);
  prediction.ctasPerSm = machine.ctasPerSm(demand);
  return prediction;
}

void addCycles(LaunchPrediction &prediction, const std::optional<ProgramCycles> &program,
               const Distribution &distribution, func::FuncOp kernel, const LaunchShape &launch) {
  if (program)
    prediction.cycles = cyclesOf(*program, distribution, std::max<int64_t>(prediction.ctasPerSm, 1),
                                 machineOf(kernel), launch);
}

} // namespace

LaunchPrediction predictOfPlan(func::FuncOp kernel, func::FuncOp written,
                               const LaunchShape &launch) {
  auto plan = kernel->getAttrOfType<nv::KernelPlanAttr>(names::plan);
  const Launch settled = Launch::of(kernel);
  const int64_t ofMmas = registersOfMmas(kernel);
  LaunchPrediction prediction;
  prediction.ctasPerSm = plan.getCtasPerSm();
  prediction.registers = ofMmas > 0 ? ofMmas : registersOfLoads(kernel, settled);
  const SmLimits &sm = machineOf(kernel).sm;
  const int64_t most = settled.registers
                           ? settled.registers->ofConsumers
                           : machineOf(kernel).registersOfThread(
                                 InstructionSet::warpThreads *
                                 (moduleInt(kernel, names::numWarps, 4) + settled.producerWarps));
  prediction.spills = prediction.registers > std::min(most, sm.registersOfThread);
  std::optional<ProgramCycles> program = programCycles(kernel, launch, prediction.unknown);
  if (!program && written)
    program = programCycles(written, launch, prediction.unknown);
  if (program)
    prediction.unknown.clear();
  addCycles(prediction, program, distributionOf(plan), kernel, launch);
  prediction.cycles /= speedupByStreamK(kernel, launch, std::max<int64_t>(prediction.ctasPerSm, 1));
  return prediction;
}

std::vector<LaunchPrediction> predictOfTiles(func::FuncOp kernel, const LaunchShape &launch) {
  std::vector<LaunchVariant> variants = launch.variants;
  if (variants.empty())
    variants.push_back({.numWarps = moduleInt(kernel, names::numWarps, 4),
                        .numStages = moduleInt(kernel, names::numStages, 3)});
  std::string unknown;
  const auto program = programCycles(kernel, launch, unknown);
  std::vector<LaunchPrediction> predictions;
  for (const LaunchVariant &variant : variants) {
    LaunchPrediction &prediction = predictions.emplace_back(predictDemand(kernel, variant));
    prediction.unknown = unknown;
    addCycles(prediction, program, {}, kernel, launch);
  }
  return predictions;
}

} // namespace pantile
