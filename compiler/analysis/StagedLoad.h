//===- StagedLoad.h - a load that goes straight into a shared buffer ---------------------===//
// The pattern that StageOperands leaves, ScheduleLoops marks and ExpandPipeline expands:
//     %t = tile.load %ptr ...      (used by the store alone)
//     nv.local_store %t, %buffer   {nv.prefetch = <bytes of one cp.async>}
// with `%buffer = nv.alloc` in the same loop body.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral prefetch = "nv.prefetch"; // i32, on nv.local_store
constexpr llvm::StringLiteral distance = "nv.distance"; // i32, on scf.for: iterations ahead
constexpr llvm::StringLiteral depth = "nv.depth"; // i32, on scf.for: stages of each circular buffer
constexpr llvm::StringLiteral inFlight = "nv.in_flight"; // i32, on scf.for: products under way
constexpr llvm::StringLiteral circularBuffer =
    "nv.circular_buffer"; // unit, on nv.alloc: its loop orders the accesses itself
} // namespace names

struct StagedLoad {
  LoadOp load;
  nv::LocalStoreOp store;
  nv::AllocOp alloc;
};

/// What `loop` is asked for by its own hint, else by the launch.
int stagesOf(mlir::scf::ForOp loop);

/// The staged loads of `loop`'s own body, in order.
llvm::SmallVector<StagedLoad> findStagedLoads(mlir::scf::ForOp loop);

/// What must be computed to know the addresses of later iterations: operations of the body, and the
/// loop-carried values that they read (with what those become). Empty optional: something in it has
/// an effect or reads memory. `upToLoads`: loads of the body are where the slice begins.
struct AddressSlice {
  llvm::SetVector<mlir::Operation *> ops; ///< in no particular order
  llvm::SetVector<unsigned> carried;      ///< indices of iter args
  llvm::SetVector<mlir::Operation *> loads;
};
std::optional<AddressSlice> addressSlice(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> roots,
                                         bool upToLoads = false);

/// The pointer that all addresses of a tile are computed from, as far as it can be followed: loops
/// that carry it may add to it.
mlir::Value baseOf(mlir::Value ptr);

/// The slice that the operands of `loads` need.
std::optional<AddressSlice> slicesOf(mlir::scf::ForOp loop,
                                     llvm::ArrayRef<mlir::Operation *> loads);

} // namespace pantile
