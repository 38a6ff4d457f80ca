//===- FindOps.h - the operations of a kind in an operation's regions ---------------------===//
// Needs: nothing.
// Gives: all of them, or the first one, in the order of MLIR's walks: operations in regions come
//        before the one that has these. The root counts as well. Also what values are computed
//        from, and the parts of conditions.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
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

/// Visits `roots` and what they are computed from, each value once. `goesOn` says whether to visit
/// the operands of a value's operation, too.
inline void traceBack(llvm::ArrayRef<mlir::Value> roots,
                      llvm::function_ref<bool(mlir::Value)> goesOn) {
  llvm::SmallVector<mlir::Value> work(roots);
  llvm::DenseSet<mlir::Value> seen;
  while (!work.empty()) {
    const mlir::Value value = work.pop_back_val();
    mlir::Operation *op = value.getDefiningOp();
    if (seen.insert(value).second && goesOn(value) && op)
      work.append(op->operand_begin(), op->operand_end());
  }
}

/// The conditions that are true together where `condition` is, each once: both sides of an `and` may
/// share operands, level by level.
inline llvm::SmallVector<mlir::Value> conjuncts(mlir::Value condition) {
  llvm::SmallVector<mlir::Value> found;
  traceBack(condition, [&](mlir::Value value) {
    const bool isBoth = value.getDefiningOp<mlir::arith::AndIOp>() != nullptr;
    if (!isBoth)
      found.push_back(value);
    return isBoth;
  });
  std::reverse(found.begin(), found.end()); // from left to right
  return found;
}

} // namespace pantile
