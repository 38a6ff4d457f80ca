//===- EarlierEffect.h - what a producer may not run ahead of ------------------------------===//
// Needs: a kernel, and where its producer starts.
// Gives: the operation that comes between that start and a loop whose loads the producer issues, and
//        that orders these loads.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/ProducerStart.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// An operation that orders loads through `bases` and may run before `loop` is entered, after `start`,
/// or in an earlier iteration of a loop around it; null if there is none. `polls` are the producer's.
/// `pastStores`: stores of `loop` through other arguments order nothing, as for prefetches.
mlir::Operation *earlierEffect(mlir::func::FuncOp kernel, const ProducerStart &start,
                               mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> bases,
                               llvm::ArrayRef<AtomicRmwOp> polls, bool pastStores);

} // namespace pantile
