//===- OperandSource.h - where the operands of dots come from -----------------------------===//
// Needs: layouts; dots have `mma`, and operands stand as assigned, before StageOperands.
// Gives: the tile that an operand is a view of, and which operands loops keep.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

namespace pantile {

/// The source of a dot operand: `value`, transposed or not.
struct OperandSource {
  mlir::Value value;
  bool transposed = false;
};

/// Traces an operand through conversions and transposes.
OperandSource sourceOf(mlir::Value operand);

/// `dot`, or the outermost loop around it in which `value` is invariant.
mlir::Operation *outermostUser(mlir::Operation *dot, mlir::Value value);

/// Whether `source` is loaded before the loop that `dot` stands in.
bool isKept(DotOp dot, OperandSource source);

/// The loops whose kept operands of mma.sync do not fit into registers next to what they carry.
llvm::DenseSet<mlir::Operation *> crowdedLoops(mlir::ModuleOp module);

} // namespace pantile
