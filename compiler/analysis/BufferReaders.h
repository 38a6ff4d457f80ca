//===- BufferReaders.h - which MMAs read a staged buffer ---------------------------===//
// Needs: StageOperands ran, which gives each operand of an MMA a buffer of its own.
// Gives: the uses of a buffer and of its views, and the MMAs and threads that read it.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedLoad.h"

namespace pantile {

/// Calls `visit` for each use of `buffer` and of its views; false as soon as a call is.
bool forEachUse(mlir::Value buffer, llvm::function_ref<bool(mlir::OpOperand &)> visit);

/// The buffer of which `buffer` is a view; else `buffer` itself.
mlir::Value viewedBuffer(mlir::Value buffer);

/// A stage of a circular buffer; `index` is null if `buffer` is a buffer of one stage.
struct BufferStage {
  mlir::Value buffer, index;
};

/// The stage that `view` is, or is a view of.
BufferStage stageOf(mlir::Value view);

/// The mbarriers of a circular buffer that TMA fills; else null.
mlir::Value barriersOf(mlir::Value buffer);

/// Whether an MMA may read `buffer` past the end of an iteration of `loop`: it is one of `loads`, for
/// which there is a circular buffer, or outlives the iteration. Where threads fill that again,
/// InsertBarriers waits for the MMA before.
bool outlastsIteration(mlir::scf::ForOp loop, mlir::Value buffer, llvm::ArrayRef<StagedLoad> loads);

/// Whether a circular buffer that `mma` reads has too few stages for two iterations at once: while
/// both read one, another must be filled.
bool lacksStagesToOverlap(nv::AsyncMmaOpInterface mma);

/// The only MMA in `loop`, if its wait can be deferred by one iteration: it adds to a carried
/// accumulator, and the next iteration does not overwrite its operands.
nv::AsyncMmaOpInterface deferrableMma(mlir::scf::ForOp loop, llvm::ArrayRef<StagedLoad> loads);

struct BufferReader {
  nv::AsyncMmaOpInterface mma; ///< null: threads use its values otherwise
  int operand;                 ///< 0: A, 1: B
  mlir::Operation *at;         ///< reads the buffer: `mma`, or a load whose values only `mma` uses
  mlir::Value view;            ///< the view that it reads, with the operand's shape

  /// After which operation it has read the buffer: the wait for the MMA.
  mlir::Operation *end() const;
};

/// Whether an MMA reads `alloc` rounded to tf32.
bool isRounded(nv::AllocOp alloc);

/// What reads `alloc`, in the order in which it ends; empty if that is not all in `block`.
llvm::SmallVector<BufferReader> readersOf(nv::AllocOp alloc, mlir::Block *block);

} // namespace pantile
