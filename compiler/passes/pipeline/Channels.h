//===- Channels.h - from buffers of one stage to channels, and to counted stages ----------===//
// Needs: staged loads (StagedLoad.h): each has a buffer of one stage in the body of its loop.
// Gives: channels instead, whose current stage the load fills; then loops that carry which stage
//        that is. What fills it differs: ExpandPipeline creates cp.async for that, SpecialiseWarps
//        TMA loads.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedLoad.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// Makes all that reads `buffer` read `stage` instead, and erases what reserves and frees it.
void replaceBuffer(mlir::Value buffer, mlir::Value stage);

/// Makes the buffer of `staged` a channel, reserved before `loop`: copies of `bytes` fill its `depth`
/// stages `ahead` iterations before their use.
nv::ChannelOp formCopyChannel(mlir::scf::ForOp loop, StagedLoad staged, int depth, int ahead,
                              int bytes);

/// Erases the fences in the body of `loop` that follow no store into shared memory: copies have
/// fences of their own, or need none.
void eraseUnneededFences(mlir::scf::ForOp loop);

/// The next values of what a loop carries, created in its body.
using NextValues = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, llvm::ArrayRef<mlir::BlockArgument>)>;

/// Replaces `loop` by one that also carries values that begin at `inits`.
mlir::scf::ForOp carryValues(mlir::scf::ForOp loop, mlir::ValueRange inits, NextValues next);

/// The stage that an iteration uses, and how often the index has wrapped, whose parity is the
/// phase. `wraps` is null where nothing needs it.
struct StageCount {
  mlir::Value index, wraps;
};

/// The count one iteration later: incremented, and set to zero where it reaches `depth`.
StageCount nextStage(mlir::OpBuilder &b, mlir::Location loc, StageCount now, int depth);

} // namespace pantile
