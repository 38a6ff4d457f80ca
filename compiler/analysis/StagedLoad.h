//===- StagedLoad.h - loads that go straight into a shared buffer ------------------===//
// The pattern that StageOperands creates, and that ScheduleLoops and SpecialiseWarps turn into channels:
//     %t = tile.load %ptr ...      (its only use is the store)
//     nv.local_store %t, %buffer
// with `%buffer = nv.alloc` in the same loop body.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"

namespace pantile {

/// A buffer of one stage for `tile`, with elements along `fastest` contiguous and the widest swizzle
/// up to `mostSpan`.
nv::BufferType stageFor(mlir::RankedTensorType tile, int fastest, int mostSpan = 128);

struct StagedLoad {
  LoadOp load;
  nv::LocalStoreOp store;
  nv::AllocOp alloc;
};

/// The number of stages that `loop` should have: its own hint, else that of the launch.
int stagesOf(mlir::scf::ForOp loop);

/// The staged loads of `loop`'s own body, in order.
llvm::SmallVector<StagedLoad> findStagedLoads(mlir::scf::ForOp loop);

/// The bytes of one stage of each of `loads`.
int64_t stageBytesOf(llvm::ArrayRef<StagedLoad> loads);

/// What the addresses of later iterations depend on: operations of the body, and the loop-carried
/// values that they read, with how these advance. Empty optional: an operation of the slice has an
/// effect or reads memory. `upToLoads`: the slice begins at loads of the body.
struct AddressSlice {
  llvm::SetVector<mlir::Operation *> ops; ///< in no particular order
  llvm::SetVector<unsigned> carried;      ///< indices of iter args
  llvm::SetVector<mlir::Operation *> loads;
};
std::optional<AddressSlice> addressSlice(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> roots,
                                         bool upToLoads = false);

/// The pointer that all addresses of a tile are computed from, as far as it can be followed. Loops
/// that carry it may advance it.
mlir::Value baseOf(mlir::Value ptr);

/// The address slice of the operands of `loads`.
std::optional<AddressSlice> slicesOf(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<mlir::Operation *> loads);

} // namespace pantile
