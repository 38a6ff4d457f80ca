//===- ProgramCycles.cpp - how long one program works, and how long it waits -------===//
// Gives: see ProgramCycles.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/ProgramCycles.h"
#include "analysis/EngineCycles.h"
#include "analysis/LoopChannels.h"
#include "analysis/ProgramValues.h"
#include "analysis/Programs.h"
#include "ir/FindOps.h"
#include "ir/Machine.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether `loop` uses tiles: the time of other loops is negligible.
bool worksOnTiles(Operation *loop) {
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  return findOp(loop, [&](Operation *op) {
    return llvm::any_of(op->getOperandTypes(), isTile) ||
           llvm::any_of(op->getResultTypes(), isTile);
  });
}

/// What the iterations of a loop read.
struct Reads {
  bool multiplies = false; ///< dots whose operands will be staged
  bool loads = false;      ///< by the threads themselves
};

Reads readsOf(scf::ForOp loop) {
  Reads reads;
  forEachInIteration(loop, [&](Operation *op) {
    auto dot = dyn_cast<DotOp>(op);
    reads.multiplies |= dot && !cast<RankedTensorType>(dot.getType()).getEncoding();
    auto load = dyn_cast<LoadOp>(op);
    reads.loads |= load && isa<RankedTensorType>(load.getType());
  });
  return reads;
}

/// A loop that works on tiles.
struct LoopCost {
  Operation *loop;
  int around;         ///< index of the loop around it; -1: none
  double busy, waits; ///< per iteration
};

class Costs {
public:
  explicit Costs(func::FuncOp kernel) : machine(machineOf(kernel)) {
    outside = busiest(engineCyclesOutside(kernel));
    collect(kernel, -1);
  }

  /// The cycles of one program; nothing, and why in `unknown`, where they are unknown.
  std::optional<ProgramCycles> of(ProgramValues values, std::string &unknown) const {
    ProgramCycles total{.busy = outside};
    SmallVector<double> runs;
    for (const LoopCost &cost : loops) {
      const std::optional<int64_t> trips = tripsOf(cost.loop, values);
      if (!trips) {
        unknown = isa<scf::ForOp>(cost.loop)
                      ? "how often a loop runs does not follow from the arguments"
                      : "how often a `while` loop runs is not known";
        return std::nullopt;
      }
      runs.push_back((cost.around < 0 ? 1 : runs[cost.around]) * *trips);
      total.busy += runs.back() * cost.busy;
      total.waits += runs.back() * cost.waits;
    }
    return total;
  }

private:
  /// Adds the loops in `within`, outer ones first.
  void collect(Operation *within, int around) {
    within->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == within || (!isa<LoopLikeOpInterface>(op) && !isa<nv::ProducerOp>(op)))
        return WalkResult::advance();
      if (!isa<nv::ProducerOp>(op) && worksOnTiles(op)) {
        loops.push_back(costOf(op, around));
        collect(op, static_cast<int>(loops.size()) - 1);
      }
      return WalkResult::skip();
    });
  }

  LoopCost costOf(Operation *op, int around) const {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return {op, around, 0, 0};
    const SmallVector<nv::ChannelAttr> channels = channelsOf(loop);
    const double work = busiest(engineCycles(loop, channels));
    return {op, around, work, isLoopOverPrograms(op) ? 0 : waitOf(loop, channels, work)};
  }

  static bool isLoopOverPrograms(Operation *loop) { return loop->hasAttr(names::programs); }

  static std::optional<int64_t> tripsOf(Operation *op, ProgramValues &values) {
    auto loop = dyn_cast<scf::ForOp>(op);
    return isLoopOverPrograms(op) ? 1 : loop ? values.trips(loop) : std::nullopt;
  }

  /// With tensor cores at the clock that they sustain, and L2 at the rate of one SM.
  double busiest(EngineCycles cycles) const {
    cycles.at(nv::Limiter::TensorCore) /= machine.predictions.sustainedMma;
    cycles.at(nv::Limiter::L2) *= machine.perCycle.l2Bytes / machine.perCycle.portBytes;
    return *llvm::max_element(cycles.cycles);
  }

  /// How long an iteration waits for the copy that fills its stage, or for memory.
  double waitOf(scf::ForOp loop, ArrayRef<nv::ChannelAttr> channels, double work) const {
    const Reads reads = readsOf(loop);
    double wait = reads.multiplies ? machine.cycles.mbarrierHandOff : 0;
    bool isPrefetched = reads.multiplies;
    for (nv::ChannelAttr channel : channels) {
      const double latency = channel.getTransport() == nv::Transport::Tma
                                 ? machine.cycles.tmaLoad
                                 : machine.cycles.globalLoad;
      wait = std::max<double>(
          {wait, double(machine.cycles.mbarrierHandOff), latency / channel.getDepth() - work});
      isPrefetched |= channel.getTransport() == nv::Transport::Registers;
    }
    return reads.loads && !isPrefetched ? std::max<double>(wait, machine.cycles.globalLoad) : wait;
  }

  const MachineModel &machine;
  double outside;
  SmallVector<LoopCost> loops;
};

} // namespace

std::optional<ProgramCycles> programCycles(func::FuncOp kernel, const LaunchShape &launch,
                                           std::string &unknown) {
  const int64_t samples = machineOf(kernel).predictions.sampledPrograms;
  const Costs costs(kernel);
  ProgramCycles mean;
  for (int64_t sample = 0; sample < samples; ++sample) {
    ProgramValues::Program program;
    for (auto [index, extent] : llvm::zip(program, launch.grid))
      index = (2 * sample + 1) * extent / (2 * samples);
    const auto cycles = costs.of(ProgramValues(launch, program), unknown);
    if (!cycles)
      return std::nullopt;
    mean.busy += cycles->busy / samples;
    mean.waits += cycles->waits / samples;
  }
  return mean;
}

} // namespace pantile
