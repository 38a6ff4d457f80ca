//===- EngineCycles.h - how long an iteration keeps each unit of an SM busy --------===//
// Needs: a loop in its final form, and its channels.
// Gives: the cycles per iteration of one CTA for which the busiest unit works, and which unit it
//        is.
// How:   Work divided by MachineModel's throughput. Latencies and waits do not count, so it is a
//        lower bound if nothing else runs during the waits. Counted are MMAs; what MMAs, ldmatrix,
//        copies and stores move through shared memory; bytes of global memory, as if all were in
//        L2; MUFU; and the issue of MMAs, accesses and floating-point arithmetic. Not counted are
//        address arithmetic, masks and barriers. Both sides of a branch count. For tiles without a
//        layout each element counts once, and dots run on tensor cores if their type does.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <array>

namespace pantile {

struct BusiestEngine {
  int64_t cycles;
  nv::Limiter limiter;
};

/// Cycles for which each unit of an SM works.
struct EngineCycles {
  std::array<double, nv::getMaxEnumValForLimiter() + 1> cycles{};

  double &at(nv::Limiter engine) { return cycles[static_cast<size_t>(engine)]; }
  BusiestEngine busiest() const;
};

/// The cycles of an iteration of `loop`, without the loops in it.
EngineCycles engineCycles(mlir::scf::ForOp loop, llvm::ArrayRef<nv::ChannelAttr> channels);
/// The cycles of what `kernel` does outside of loops, without its producer.
EngineCycles engineCyclesOutside(mlir::func::FuncOp kernel);

BusiestEngine busiestEngine(mlir::scf::ForOp loop, llvm::ArrayRef<nv::ChannelAttr> channels);

} // namespace pantile
