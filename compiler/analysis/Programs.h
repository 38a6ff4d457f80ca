//===- Programs.h - programs of a persistent kernel, and what they have in common ---===//
// A persistent kernel, as MakePersistent leaves it, consists of one loop over programs:
//     scf.for %p = nv.cta_id to nv.program_count step nv.num_ctas { the program } {nv.programs}
// Programs are unordered: none reads what another stores, so nothing in the loop orders one
// iteration before the next.
//===--------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral programs = "nv.programs"; // unit, on the scf.for over programs
} // namespace names

/// Whether `op` synchronises with other threads or programs, or has effects that are observed while
/// the program runs: atomics, barriers, volatile loads, asserts and prints.
bool synchronises(mlir::Operation *op);

/// Whether loads must not move before `op`: it writes memory, or synchronises.
bool ordersLoads(mlir::Operation *op);

/// The first operation that a bound of `loop` is computed from for which `wanted` holds; null if
/// there is none.
mlir::Operation *findInBounds(mlir::scf::ForOp loop,
                              llvm::function_ref<bool(mlir::Operation *)> wanted);

/// An operation because of which programs may run `loop` for different numbers of iterations; null
/// if the arguments alone decide.
mlir::Operation *unevenBound(mlir::scf::ForOp loop);

/// The only function of `module`; null if there are several, or none.
mlir::func::FuncOp onlyFunction(mlir::ModuleOp module);

/// The loop over programs; null if `kernel` is not persistent.
mlir::scf::ForOp programLoop(mlir::func::FuncOp kernel);

/// What one program does: the body of the loop over programs, or of the kernel.
mlir::Block &programBody(mlir::func::FuncOp kernel);

} // namespace pantile
