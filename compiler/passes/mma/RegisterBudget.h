//===- RegisterBudget.h - registers of kernels with products, and how many blocks have room -===//
// Needs: loops with products in layouts.
// Gives: what a thread of such a loop needs, and what a thread may have beside a producer.
// How:   registers are allotted to groups of four warps at launch, so one extra warp already costs
//        as much as four.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Registers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"

namespace pantile {

constexpr int64_t registersForAddresses = 40;

/// Sums that start anew in each iteration, or are carried; what else is carried, left operands, and
/// some for addresses.
int64_t registersOfLoop(mlir::scf::ForOp loop);

/// Registers of a thread when so many blocks share a multiprocessor, a producer in each.
struct RegisterBudget {
  const Target &target;
  int warps;
  static constexpr int32_t producer = 24, unit = 8, most = 240;

  int64_t launch(int64_t blocks) const {
    return target.registersPerBlock() / blocks / (32 * (warps + 4)) / unit * unit;
  }
  int64_t consumer(int64_t blocks) const {
    const int64_t left = launch(blocks) * (warps + 4) - producer * 4;
    return std::min<int64_t>(left / warps / unit * unit, most);
  }
};

} // namespace pantile
