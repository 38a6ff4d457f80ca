//===- CircularBuffer.h - from buffers of one stage to circular buffers -------------------===//
// Needs: staged loads (StagedLoad.h): each has a buffer of one stage in the body of its loop.
// Gives: circular buffers instead, and loops that carry which stage an iteration uses. What fills
//        the stages differs: ExpandPipeline creates cp.async for that, SpecialiseWarps TMA loads.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedLoad.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// The type of a circular buffer of `depth` stages of type `stage`.
nv::BufferType circularType(nv::BufferType stage, int depth);

/// Allocates a circular buffer of `depth` stages of type `stage`.
mlir::Value allocCircular(mlir::OpBuilder &b, mlir::Location loc, nv::BufferType stage, int depth);

/// The stage of `buffer` at `index`.
mlir::Value selectStage(mlir::OpBuilder &b, mlir::Location loc, mlir::Value buffer,
                        mlir::Value index);

/// Makes all that reads the buffer of `load` read `stage` instead. Erases the buffer, its store and
/// the load.
void replaceByStage(StagedLoad load, mlir::Value stage);

/// Erases the fences in the body of `loop` that follow no store into shared memory: copies have
/// fences of their own, or need none.
void eraseUnneededFences(mlir::scf::ForOp loop);

/// The next value of what a loop carries, created in its body.
using NextValue = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::BlockArgument)>;

/// Replaces `loop` by one that also carries a value that begins at `init`.
mlir::scf::ForOp carryValue(mlir::scf::ForOp loop, mlir::Value init, NextValue next);

} // namespace pantile
