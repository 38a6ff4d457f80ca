//===- LoweringChoices.h - what the lowering does only where it is asked to -----------------===//
// Units on the module, put there by Pipeline.cpp. None changes what a kernel computes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace pantile {
namespace names {
constexpr llvm::StringLiteral fillByCopy =
    "nv.fill_by_copy"; // copies of no bytes write the zeros of what is masked off
constexpr llvm::StringLiteral earlyProducer =
    "nv.early_producer"; // the producer makes its barriers itself and does not wait for the others
constexpr llvm::StringLiteral plainPrograms =
    "nv.plain_programs"; // a persistent kernel divides only where the grid has several axes
constexpr llvm::StringLiteral shortDivisions =
    "nv.short_divisions"; // scalars are divided only by what is not larger
} // namespace names

inline bool isChosen(mlir::Operation *op, llvm::StringRef name) {
  return op->getParentOfType<mlir::ModuleOp>()->hasAttr(name);
}
} // namespace pantile
