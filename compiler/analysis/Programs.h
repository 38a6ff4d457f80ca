//===- Programs.h - kernels whose blocks run one program after the other ------------------===//
// MakePersistent leaves
//     scf.for %p = nv.cta_id to nv.program_count step nv.num_ctas { the program } {nv.programs}
// as the only thing that the kernel does. Programs are unordered among themselves: what one stores,
// another does not read, so nothing in the loop orders one round before the next.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral programs = "nv.programs"; // unit, on the scf.for over programs
} // namespace names

/// Operations by which a program meets others, or is seen while it runs.
bool meetsOthers(mlir::Operation *op);

/// The first operation that a bound of `loop` is computed from for which `wanted` holds; null if there
/// is none.
mlir::Operation *findInBounds(mlir::scf::ForOp loop,
                              llvm::function_ref<bool(mlir::Operation *)> wanted);

/// What makes programs go round `loop` a different number of times, as far as the arguments tell.
mlir::Operation *unevenBound(mlir::scf::ForOp loop);

/// What one program does: the body of the loop over programs, or of the kernel.
mlir::Block &programBody(mlir::func::FuncOp kernel);

} // namespace pantile
