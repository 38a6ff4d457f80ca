//===- FindOps.h - the operations of a kind in an operation's regions ---------------------===//
// Needs: nothing.
// Gives: all of them, or the first one, in the order of MLIR's walks: operations in regions come
//        before the one that has these. The root counts as well.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace pantile {

/// The operations of one type, or with one interface, in `root`.
template <typename Op> llvm::SmallVector<Op> opsIn(mlir::Operation *root) {
  llvm::SmallVector<Op> found;
  root->walk([&](Op op) { found.push_back(op); });
  return found;
}

/// The first operation in `root` that is `wanted`; null if there is none.
inline mlir::Operation *findOp(mlir::Operation *root,
                               llvm::function_ref<bool(mlir::Operation *)> wanted) {
  mlir::Operation *found = nullptr;
  root->walk([&](mlir::Operation *op) {
    found = wanted(op) ? op : nullptr;
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

/// Whether `root` contains an operation of one of these types.
template <typename... Ops> bool containsOp(mlir::Operation *root) {
  return findOp(root, llvm::IsaPred<Ops...>) != nullptr;
}

} // namespace pantile
