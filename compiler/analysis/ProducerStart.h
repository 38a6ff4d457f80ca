//===- ProducerStart.h - where in a kernel its producer starts ---------------------===//
// Needs: a kernel.
// Gives: the earliest place at which a producer may start, and what it then gets from the consumers.
// How:   A producer starts with the kernel if it can. It starts later if memory that it loads may be
//        written before, if its coordinates come from memory or tiles, or if its loops are in a branch
//        that has results. Consumers run alone up to there. They hand it the scalars that it uses,
//        and their accesses to memory come before its own. The place is run at most once: it is in
//        branches, but in no loop.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

struct ProducerStart {
  mlir::Block *block = nullptr;     ///< null: the start of the kernel
  mlir::Operation *after = nullptr; ///< in `block`; null: at its beginning

  bool isLate() const { return block != nullptr; }
  /// Whether consumers can hand `value` to a producer that starts here: a scalar from before.
  bool isGiven(mlir::Value value) const;
};

/// The first place later than `start` that comes after `op`, or into a branch of it, and before
/// `loops`, which are all in one block or below; nothing if there is none.
std::optional<ProducerStart> startAfter(mlir::Operation *op, const ProducerStart &start,
                                        llvm::ArrayRef<mlir::scf::ForOp> loops);

/// The scalars that `producer` uses and that consumers compute, each once.
llvm::SmallVector<mlir::Value> handedScalars(nv::ProducerOp producer);

} // namespace pantile
