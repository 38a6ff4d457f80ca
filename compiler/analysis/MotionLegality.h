//===- MotionLegality.h - what operations of a loop with MMAs may change places ------------===//
// Needs: a loop body in which MMAs read buffers, and have waits.
// Gives: whether an operation may be moved past another one, and whether two stages of an iteration
//        may run together.
// How:   only effects are looked at; what an operation reads and computes is for the caller.
//        1. An operation without effects may stand anywhere between its operands and its users.
//        2. An MMA may pass what neither changes shared memory nor synchronises threads, and reads
//           no registers that it holds in flight, and the end of a buffer that it does not read. A wait
//           may also pass stores into buffers that are allocated after its MMA was issued, which
//           therefore does not read them, and what does no more than write global memory, relaxed.
//           It may pass the end of a buffer that its MMA reads if that end moves along: the buffer
//           is live as long as it is read, so AllocateShared gives its bytes neither to scratch nor
//           to buffers that the wait passes. Whether there is room for all is for the caller.
//        3. A load from global memory may also pass copies into shared memory and waits for them.
//           It must be stable: it reads the same wherever it stands.
//        4. Stages may run together if nothing else than MMAs, their waits, waits for full stages,
//           releases, loads from such stages and stable loads has effects. So nothing that they read
//           changes in the loop, and a load from a stage stays between its wait and its release.
//===-----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// Whether `op` has neither effects nor regions.
bool hasNoEffects(mlir::Operation *op);

/// Whether `op` neither changes shared memory nor synchronises threads.
bool leavesSharedMemory(mlir::Operation *op);

/// Whether `op` has no effects and computes no tile, like the selection of a stage of a buffer: it may be
/// computed again.
bool isStageSelection(mlir::Operation *op);

/// Whether `op` is a load that may be moved if nothing writes its memory.
bool isStableLoad(mlir::Operation *op);

/// The mbarriers of the circular buffer that `op` loads a tile from, into registers, and that a
/// producer fills; else null.
mlir::Value barriersOfRead(mlir::Operation *op);

/// Whether `op` ends the lifetime of a buffer that `mma` reads, or an MMA to whose result it adds
/// in flight.
bool freesOperand(mlir::Operation *op, nv::AsyncMmaOpInterface mma);

/// Whether `mma` may be issued before `op` instead of after it.
bool mayPass(nv::AsyncMmaOpInterface mma, mlir::Operation *op);

/// Whether `wait`, which is for one MMA, may move after `op`.
bool mayPass(nv::MmaWaitOpInterface wait, mlir::Operation *op);

/// Whether `load` may be issued before `op` instead of after it.
bool mayPass(LoadOp load, mlir::Operation *op);

/// Whether one part of an iteration of `loop` may run together with another part of the next one.
bool mayOverlapStages(mlir::scf::ForOp loop);

} // namespace pantile
