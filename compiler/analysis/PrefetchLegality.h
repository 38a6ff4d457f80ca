//===- PrefetchLegality.h - which loads of a loop may be prefetched ----------------===//
// Needs: layouts.
// Gives: whether a load can become an asynchronous copy issued iterations early, and how many bytes
//        each cp.async copies; which operation of a loop forbids to read memory early.
// How:   A load may be prefetched if three rules hold. Its address must be computable iterations
//        early. It may depend on small loads of the loop whose own addresses are (a page table's
//        entries). Vectors have at least 4 bytes. No operation of the loop may change what is read:
//        stores through other arguments count as no-alias, and so do atomics whose old values are
//        unused.
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

/// Whether `load` must read memory in program order: it is volatile, or has the modifier `.cv`.
bool isVolatileLoad(LoadOp load);

/// Whether `load` is indirect (gathered): its addresses depend on values that the loop loads.
bool isIndirect(mlir::scf::ForOp loop, LoadOp load);

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
