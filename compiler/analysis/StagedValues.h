//===- StagedValues.h - tiles that a loop with MMAs computes with, and prefetches ---------===//
// Needs: layouts.
// Gives: loads whose tiles no MMA reads unchanged, but which are worth prefetching, with buffers.
// How:   StagedValues.cpp has the rules.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "analysis/StagedLoad.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"
#include "llvm/ADT/DenseSet.h"

namespace pantile {

/// A load whose tile threads of the loop body read, and a buffer of one stage for it.
struct StagedValue {
  LoadOp load;
  nv::BufferType buffer;
};

/// The matrices that the body of a loop with MMAs computes with, where they can be prefetched
/// through `stages` stages and their buffers do not cost the second CTA per SM.
llvm::SmallVector<StagedValue> matricesToStage(mlir::scf::ForOp loop, int stages,
                                               const AxisInfoAnalysis &axes, const Target &target);

/// The load of a loop's body that `store` stores for an MMA, if threads of the body use its tile, too,
/// and should read it from the buffer: stages leave as many CTAs per SM as there were, or two, and the
/// load can be prefetched into them. Null otherwise, and where a branch of the body gives tiles.
LoadOp loadForBoth(nv::LocalStoreOp store);

/// The vectors that it reads.
struct VectorLoads {
  llvm::SmallVector<StagedValue> all;
  bool canBeHeld = false; ///< a thread has registers for those of the next iteration
};
VectorLoads vectorsOf(mlir::scf::ForOp loop, const Target &target);

/// Tiles that threads load in an iteration for their own arithmetic, not for an MMA.
struct OwnLoads {
  int64_t bytes = 0; ///< elements with equal addresses count once
  LoadOp largest;
};

/// Those of the body of `loop` itself, but for `others`.
OwnLoads ownLoadsOf(mlir::scf::ForOp loop, const llvm::SmallDenseSet<mlir::Operation *> &others,
                    const AxisInfoAnalysis &axes);

/// The operations of the body that compute with the tile of `load`, or convert a matrix, in order. Views
/// of its registers compute nothing.
llvm::SmallVector<mlir::Operation *> usersOf(LoadOp load);

/// Whether `op` can be as late as its first use: a view, or a conversion of a vector, whose buffer
/// is read in that layout.
bool movesToFirstUse(mlir::Operation *op);

} // namespace pantile
