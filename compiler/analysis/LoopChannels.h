//===- LoopChannels.h - through what tiles come into a loop's iterations -------------------===//
// Needs: a loop as it is lowered: stages are expanded, and a producer has its own loops.
// Gives: its channels, in the order of their buffers, then those in registers; and how many MMAs
//        an iteration leaves in flight.
// How:   a buffer is a channel of the loop that fills it, or, where a producer does, of those loops
//        that read it as deep in other loops as the TMA load stands in the producer's. What is
//        filled further out, such as attention's queries, is the same in every iteration.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// The loop around `op` of which it is a part in each iteration; null outside of loops.
mlir::LoopLikeOpInterface loopAround(mlir::Operation *op);

/// Calls `visit` with what is run in each iteration of `loop` itself, branches included.
void forEachInIteration(mlir::scf::ForOp loop, llvm::function_ref<void(mlir::Operation *)> visit);

llvm::SmallVector<nv::ChannelAttr> channelsOf(mlir::scf::ForOp loop);

/// MMAs that are not waited for when an iteration ends.
unsigned mmasInFlight(mlir::scf::ForOp loop);

} // namespace pantile
