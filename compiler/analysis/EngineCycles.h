//===- EngineCycles.h - how long an iteration keeps each part of an SM busy ----------------===//
// Needs: a loop as it is lowered, and its channels.
// Gives: the cycles per iteration of one CTA that the busiest part works, and which it is.
// How:   work divided by MachineModel's throughput; no latency and no waiting, so it is a lower
//        bound where nothing else fills the waits. Counted are MMAs, what they, ldmatrix, copies
//        and stores move through shared memory, bytes of global memory (as if L2 held them all),
//        MUFU, and the issue of MMAs, accesses and floating-point arithmetic. Not counted: address
//        arithmetic, masks, barriers. Both sides of a branch count. Of tiles that have no layout yet
//        each element counts once, and dots run on tensor cores if their type does.
//===------------------------------------------------------------------------------------===//
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

/// Cycles that each part of an SM works.
struct EngineCycles {
  std::array<double, nv::getMaxEnumValForLimiter() + 1> cycles{};

  double &at(nv::Limiter engine) { return cycles[static_cast<size_t>(engine)]; }
  BusiestEngine busiest() const;
};

/// Of an iteration of `loop`, without the loops in it.
EngineCycles engineCycles(mlir::scf::ForOp loop, llvm::ArrayRef<nv::ChannelAttr> channels);
/// Of what `kernel` does outside of loops, but for its producer.
EngineCycles engineCyclesOutside(mlir::func::FuncOp kernel);

BusiestEngine busiestEngine(mlir::scf::ForOp loop, llvm::ArrayRef<nv::ChannelAttr> channels);

} // namespace pantile
