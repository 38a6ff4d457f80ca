//===- RegisterBudget.h - registers of kernels with products, and how many blocks have room -===//
// Needs: loops with products in layouts.
// Gives: what a thread of such a loop needs, and what a thread may have beside a producer.
// How:   registers are allotted to groups of four warps at launch, so one extra warp already costs
//        as much as four.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/MachineModel.h"

namespace pantile {

/// Sums that start at zero in each iteration, or are carried; what else is carried, left operands, and
/// some for addresses.
int64_t registersOfLoop(mlir::scf::ForOp loop);

/// Registers of a thread when so many blocks share an SM, a producer in each.
struct RegisterBudget {
  const MachineModel &machine;
  int warps;
  static constexpr int64_t producer = InstructionSet::leastRegisters;
  static constexpr int producerWarps = InstructionSet::warpsOfGroup;

  int64_t launch(int64_t ctas) const {
    return machine.registersOfThread(InstructionSet::warpThreads * (warps + producerWarps), ctas);
  }
  int64_t consumer(int64_t ctas) const {
    const int64_t left = launch(ctas) * (warps + producerWarps) - producer * producerWarps;
    const int64_t unit = machine.sm.registerUnit;
    return std::min(left / warps / unit * unit, machine.registers.maxOfConsumer);
  }
  /// How many of `ctas` CTAs share an SM where a consumer thread needs so many registers; at least
  /// one.
  int64_t mostCtas(int64_t registers, int64_t ctas) const {
    while (ctas > 1 && registers > consumer(ctas))
      --ctas;
    return ctas;
  }
};

} // namespace pantile
