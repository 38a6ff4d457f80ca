//===- RegisterBudget.h - registers per thread of load-dot loops, and how many CTAs fit ---===//
// Needs: loops with MMAs, with layouts.
// Gives: the registers per thread that such a loop needs, and those that a thread may have next to
//        a producer.
// How:   Registers are allocated to groups of four warps at launch, so a producer of one warp costs
//        as much as one of four.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Registers.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/MachineModel.h"

namespace pantile {

/// Whether `mma` starts from zero.
bool startsFromZero(nv::AsyncMmaOpInterface mma);

/// Registers per thread of dots on mma.sync, whose operands are in registers, those of one dot at a
/// time.
int64_t registersOfDots(mlir::scf::ForOp loop);

/// Registers per thread of a loop whose dots run on mma.sync, but for loop-invariant operands: what it carries
/// other than pointers, results of dots, the right fragments of one step, and some for addresses.
int64_t registersOfMmaSync(mlir::scf::ForOp loop);

/// Registers per thread: accumulators that start again in each iteration, everything that the
/// loop carries, also in flight, left operands in registers, dots on mma.sync next to asynchronous
/// MMAs, and some for addresses.
int64_t registersOfLoop(mlir::scf::ForOp loop);

/// Registers per thread of kernels with a producer, by the number of CTAs per SM.
struct RegisterBudget {
  const MachineModel &machine;
  int warps;
  static constexpr int64_t producer = InstructionSet::leastRegisters;
  static constexpr int producerWarps = InstructionSet::warpsOfGroup;

  int64_t launch(int64_t ctas) const {
    return machine.registersOfThread(InstructionSet::warpThreads * (warps + producerWarps), ctas);
  }
  int64_t consumer(int64_t ctas, int64_t ofProducer = producer) const {
    const int64_t left = launch(ctas) * (warps + producerWarps) - ofProducer * producerWarps;
    const int64_t unit = machine.sm.registerUnit;
    return std::min(left / warps / unit * unit, machine.registers.maxOfConsumer);
  }
  /// CTAs per SM, at most `ctas`, if a consumer thread needs `registers`; at least one.
  int64_t mostCtas(int64_t registers, int64_t ctas) const {
    while (ctas > 1 && registers > consumer(ctas))
      --ctas;
    return ctas;
  }
};

} // namespace pantile
