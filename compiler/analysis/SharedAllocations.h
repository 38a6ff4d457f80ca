//===- SharedAllocations.h - offsets and live ranges of everything in shared memory ---------===//
// Needs: operations with layouts.
// Gives: what a kernel reserves and while what is live, and the offsets that AllocateShared assigns.
//        The bytes in use also with stages and scratch that are only planned, so that passes choose
//        what fits.
// How:   Operations are numbered in program order. A buffer is live from its alloc to its dealloc,
//        scratch during its one operation. Scratch that TMA or other CTAs of the cluster read is live
//        from there to the end of the kernel; in a loop, from the start of the outermost loop. First
//        fit: the largest reservation comes first, and each gets the lowest offset that is free
//        while it is live.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <vector>

namespace pantile {

struct SharedAllocation {
  mlir::Operation *op;
  int64_t bytes, alignment;
  int begin, end; ///< the first and the last operation during which it is live
  int64_t offset = 0;

  bool interferes(const SharedAllocation &other) const {
    return begin <= other.end && other.begin <= end;
  }
  void liveThroughout();
};

/// All that `module` reserves, largest first, without offsets.
std::vector<SharedAllocation> sharedAllocations(mlir::ModuleOp module);

/// Gives offsets to all, which are sorted by size; returns the bytes in use.
int64_t placeAll(llvm::MutableArrayRef<SharedAllocation> all);

/// What a pass is about to change.
struct SharedChange {
  /// Buffers of a loop's body that become circular buffers of so many stages, each as long as its loop
  /// lives.
  llvm::DenseMap<mlir::Operation *, int64_t> stages;
  /// Stores that TMA does, through so many bytes of scratch.
  llvm::DenseMap<mlir::Operation *, int64_t> tmaStores;
  /// Buffers that live on until another operation.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> liveUntil;
  /// Whether an operation has no scratch then; may be null.
  std::function<bool(mlir::Operation *)> isGone;
};

/// The bytes in use once that is done.
int64_t sharedBytesWith(mlir::ModuleOp module, const SharedChange &change);

} // namespace pantile
