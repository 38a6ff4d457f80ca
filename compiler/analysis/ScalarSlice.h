//===- ScalarSlice.h - what one thread computes to produce some scalars ------------===//
// Needs: a kernel.
// Gives: the operations that some scalars, and the control flow around them, depend on; and the
//        values that loops and branches pass on for them. A root may be a vector, too.
// How:   A backward slice from the roots. One warp has no tiles but vectors whose elements each lane
//        computes by itself, and other threads may overwrite memory before it loads: either ends
//        the slice with a culprit. A load is allowed if the
//        kernel executes it unconditionally before it may have written memory. The user of the
//        slice hoists such loads, so that they run once for all threads. The slice also ends at what
//        is given to a producer that starts later than the kernel.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/ProducerStart.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace pantile {

/// Whether all threads have the result of `op` from the kernel's start on: constants, circular
/// buffers, mbarriers and tensor maps.
bool isCommon(mlir::Operation *op);

class ScalarSlice {
public:
  /// `mayHoistLoads`: whether a load at the start of `kernel` gives the same for all of the slice.
  explicit ScalarSlice(mlir::func::FuncOp kernel, ProducerStart start = {},
                       bool mayHoistLoads = true);

  /// Adds what `root` depends on. False: `culprit` is a tile, or a value from memory, among that.
  bool add(mlir::Value root);
  /// Adds what the operands of `op` depend on, and the control flow around it.
  bool addOperandsOf(mlir::Operation *op);
  /// Adds the control flow around `op`: whether and how often it runs.
  bool addControlOf(mlir::Operation *op);

  mlir::Operation *culprit() const { return stop; }
  /// The operation with the scalar that depends on the culprit.
  mlir::Operation *unknownScalar() const { return unknown; }
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// The numbers of the results of an scf.for or scf.if that are needed.
  llvm::SmallBitVector resultsOf(mlir::Operation *op) const;
  /// Whether `op` is a hoisted load, or its address depends on `op`.
  bool isHoisted(mlir::Operation *op) const { return hoisted.contains(op); }

private:
  bool run();
  bool visit(mlir::Value value);
  bool visitArgument(mlir::BlockArgument argument);
  bool needResult(mlir::Operation *op, unsigned number);
  bool needShell(mlir::Operation *op);
  bool needWhole(mlir::Operation *op);
  bool needControl(mlir::Operation *op);
  bool canHoist(mlir::Operation *op);
  bool refuse(mlir::Operation *culprit, mlir::Operation *scalar);

  ProducerStart start;
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> results;
  llvm::DenseSet<mlir::Operation *> hoisted;
  llvm::DenseSet<mlir::Operation *> early; ///< loads that may be hoisted
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value> work;
  mlir::Operation *stop = nullptr, *unknown = nullptr;
};

} // namespace pantile
