//===- LaunchCycles.cpp - how long a launch is expected to keep the GPU busy --------------===//
// Gives: see LaunchCycles.h.
//===------------------------------------------------------------------------------------===//
#include "analysis/LaunchCycles.h"
#include "analysis/ProgramCycles.h"
#include "analysis/ProgramValues.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Residency.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include <cmath>

using namespace mlir;

namespace pantile {
namespace {

/// How programs are spread over the SMs.
struct Spread {
  double ctasPerProgram = 1, programsPerCta = 1;
  bool isPersistent = false; ///< the next program's loads hide its start
  bool isCut = false;        ///< stream-K: no SM has more work than another
};

double cyclesOf(const ProgramCycles &program, const Spread &spread, int64_t ctasPerSm,
                const MachineModel &machine, const LaunchShape &launch) {
  const double sms = launch.multiprocessors > 0 ? launch.multiprocessors : machine.sms;
  const double share = programsOf(launch) * spread.ctasPerProgram / sms;
  const double ofSm = spread.isCut ? share : std::ceil(share);
  const double atOnce = ctasPerSm * spread.programsPerCta, rounds = std::ceil(ofSm / atOnce);
  const double start = machine.predictions.tripsToMemory * machine.cycles.globalLoad;
  return ofSm * program.busy + rounds * program.waits + (spread.isPersistent ? 1 : rounds) * start;
}

/// Tiles that are loaded are in registers at once, as far as they are not parked.
int64_t registersOfLoads(func::FuncOp kernel, const Launch &launch) {
  int64_t registers = 0;
  kernel.walk([&](LoadOp load) { registers = std::max(registers, registersOf(load.getResult())); });
  const int64_t parked = launch.parked ? launch.parked->words : 0;
  return std::max<int64_t>(registers - parked, 0) + machineOf(kernel).registers.overheadWithoutMma;
}

Spread spreadOf(nv::KernelPlanAttr plan) {
  Spread spread;
  spread.isCut = plan.getMap() == nv::ProgramMap::StreamK;
  spread.isPersistent = spread.isCut || plan.getMap() == nv::ProgramMap::Persistent;
  if (plan.getMap() == nv::ProgramMap::Cluster)
    spread.ctasPerProgram = plan.getOf();
  if (plan.getMap() == nv::ProgramMap::Packed)
    spread.programsPerCta = plan.getOf();
  return spread;
}

/// 32-bit registers of a thread for `tile`, which has no layout yet; none for pointers.
double wordsOf(Value value, int64_t threads) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile || isa<PtrType>(tile.getElementType()))
    return 0;
  return double(tile.getNumElements()) * storageBits(tile.getElementType()) / 32 / threads;
}

/// Of a loop with dots: what it carries, and accumulators that begin at zero.
double wordsOfLoop(scf::ForOp loop, int64_t threads) {
  double words = machineOf(loop).registers.overheadOfLoop;
  for (Value argument : loop.getRegionIterArgs())
    words += wordsOf(argument, threads);
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (!isa<BlockArgument>(dot.getAcc()))
      words += wordsOf(dot.getResult(), threads);
  return words;
}

/// Before layouts and stages: operands of dots have a buffer for each stage.
CtaDemand demandOfTiles(func::FuncOp kernel, const LaunchVariant &variant) {
  CtaDemand demand;
  demand.warps = variant.numWarps;
  const int64_t threads = demand.warps * InstructionSet::warpThreads;
  double words = 0;
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      words = std::max(words, wordsOf(load.getResult(), threads) +
                                  machineOf(op).registers.overheadWithoutMma);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || loop.getBody()->getOps<DotOp>().empty())
      return;
    words = std::max(words, wordsOfLoop(loop, threads));
    int64_t ofLoop = 0;
    for (auto dot : loop.getBody()->getOps<DotOp>())
      for (Value operand : {dot.getLhs(), dot.getRhs()})
        ofLoop += std::llround(wordsOf(operand, 1) * 4);
    bytes = std::max(bytes, ofLoop);
  });
  demand.registersOfThread = std::llround(words);
  demand.sharedBytes = bytes * std::max(variant.numStages, 1);
  return demand;
}

/// Without cycles.
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
               const Spread &spread, func::FuncOp kernel, const LaunchShape &launch) {
  if (program)
    prediction.cycles = cyclesOf(*program, spread, std::max<int64_t>(prediction.ctasPerSm, 1),
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
  addCycles(prediction, program, spreadOf(plan), kernel, launch);
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
