//===- ScalarSlice.h - what one thread computes to know some scalars ----------------------===//
// Needs: a kernel.
// Gives: the operations that some scalars, and the control flow around them, are computed from, and
//        which values loops and branches pass on for them.
// How:   backwards from the roots. One thread has no tiles, and what it loads other threads may have
//        overwritten since: either ends the slice with a culprit. Loads that the kernel does in any
//        case before it may have written memory are allowed; whoever uses the slice does them in
//        front, once for all threads.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace pantile {

/// What all threads of a kernel have from its start on: constants, rings, mbarriers and tensor maps.
bool isCommon(mlir::Operation *op);

class ScalarSlice {
public:
  /// `mayLoadInFront`: whether a load at the start of `kernel` is the same for all that the slice does.
  explicit ScalarSlice(mlir::func::FuncOp kernel, bool mayLoadInFront = true);

  /// False: `culprit` is a tile, or a number from memory, that the scalar depends on.
  bool add(mlir::Value root);
  /// The operands of `op`, and whether and how often it runs.
  bool addOperandsOf(mlir::Operation *op);
  /// Whether and how often `op` runs.
  bool addControlOf(mlir::Operation *op);

  mlir::Operation *culprit() const { return stop; }
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// Of an scf.for or scf.if, the numbers of the results that are needed.
  llvm::SmallBitVector resultsOf(mlir::Operation *op) const;
  /// Whether it is a load of the kernel's start, or what the address of one comes from.
  bool isInFront(mlir::Operation *op) const { return front.contains(op); }

private:
  bool run();
  bool visit(mlir::Value value);
  bool visitArgument(mlir::BlockArgument argument);
  bool needResult(mlir::Operation *op, unsigned number);
  bool needShell(mlir::Operation *op);
  bool needWhole(mlir::Operation *op);
  bool needControl(mlir::Operation *op);
  bool isDoneInFront(mlir::Operation *op);
  bool refuse(mlir::Operation *op);

  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> results;
  llvm::DenseSet<mlir::Operation *> front;
  llvm::DenseSet<mlir::Operation *> early; ///< loads that may be done in front
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> work;
  mlir::Operation *stop = nullptr;
};

} // namespace pantile
