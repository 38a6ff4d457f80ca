//===- PrefetchLegality.h - which loads of a loop may be prefetched ----------------===//
// Needs: layouts.
// Gives: whether a load can become an asynchronous copy that is issued iterations early, and how
//        many bytes each cp.async copies. Also the operation of a loop that forbids early reads of
//        memory.
// How:   A load may be prefetched if four rules hold:
//        1. Its address can be computed iterations early. The address may depend on small loads of
//           the loop, such as entries of a page table, if that holds for their addresses, too.
//        2. Each vector has at least 4 bytes.
//        3. No operation of the loop may change what is read. Two kinds of writes through another
//           argument count as no-alias: stores, and atomics whose old values are unused.
//        4. The load is not volatile, and lanes that are masked off get zero.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "analysis/StagedLoad.h"
#include "support/Target.h"

namespace pantile {

/// An operation of `loop` after which memory may read differently through `base`: a write, or an
/// access that may have waited for one. Null if there is none.
mlir::Operation *memoryChange(mlir::scf::ForOp loop, mlir::Value base);

/// Whether `op` of `loop` only writes, and through another argument than `base`. Such stores are
/// taken not to alias the operands of dots, as in Triton. In loops around other loops, such as
/// those over programs, no store counts as no-alias: prefetching past it would hold the operands of
/// two programs in a CTA.
bool isNoAliasStore(mlir::scf::ForOp loop, mlir::Operation *op, mlir::Value base);

/// Whether `op` is a relaxed atomic whose old values are unused, through another argument than
/// `base`: nothing orders it with loads through `base` but a barrier.
bool isNoAliasAtomic(mlir::Operation *op, mlir::Value base);

/// What says where `load` reads: its pointers and, if it has one, its mask.
llvm::SmallVector<mlir::Value> addressRoots(LoadOp load);

/// Whether `load` is indirect (gathered): its addresses depend on values that the loop loads.
bool isIndirect(mlir::scf::ForOp loop, LoadOp load);

/// Whether the addresses of `load` depend on what `index`, of the same loop body, loads.
bool isIndexOf(mlir::scf::ForOp loop, LoadOp index, LoadOp load);

struct PrefetchCopy {
  int bytes = 0;          ///< of one cp.async; 0: the load cannot be prefetched
  llvm::StringRef reason; ///< why it cannot
  mlir::Operation *culprit = nullptr;
};

/// How `load`, of `loop`'s own body, can be prefetched into `buffer`.
PrefetchCopy prefetchCopyOf(mlir::scf::ForOp loop, LoadOp load, nv::BufferType buffer,
                            const AxisInfoAnalysis &axes);

/// CTAs per SM if the loop's staged loads have circular buffers of `depth` stages, and `added`,
/// too.
int64_t ctasWithBuffers(mlir::scf::ForOp loop, llvm::ArrayRef<nv::BufferType> added, int depth,
                        const Target &target);

} // namespace pantile
