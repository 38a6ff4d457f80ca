//===- LoopChannels.h - the channels through which tiles reach a loop's iterations ---===//
// Needs: a loop in its final form: software pipelining is expanded, and a producer has loops of its
//        own.
// Gives: its channels, in the order of their buffers, then those in registers; and how many MMAs an
//        iteration leaves in flight.
// How:   A buffer is a channel of the loop that fills it. If a producer fills it, it is a channel
//        of the loops that read it at the loop depth at which the TMA load is in the producer. A
//        buffer that is filled further out, such as attention's queries, is the same in every
//        iteration and no channel.
//===---------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// The innermost loop around `op`; null outside of loops.
mlir::LoopLikeOpInterface loopAround(mlir::Operation *op);

/// Calls `visit` with each operation of an iteration of `loop`, branches included. Loops in it are
/// visited, not their bodies.
void forEachInIteration(mlir::scf::ForOp loop, llvm::function_ref<void(mlir::Operation *)> visit);

llvm::SmallVector<nv::ChannelAttr> channelsOf(mlir::scf::ForOp loop);

/// MMAs that are not waited for when an iteration ends.
unsigned mmasInFlight(mlir::scf::ForOp loop);

} // namespace pantile
