//===- CopyAhead.h - which loads of a loop may be made iterations ahead --------------------===//
// Needs: layouts.
// Gives: whether a load can become an asynchronous copy into a buffer, and in which pieces; what in
//        a loop forbids to read ahead of it.
// How:   addresses must be known ahead of time, also from small loads of the loop whose own
//        addresses are (a page table's entries); vectors have at least 4 bytes; nothing in the loop
//        may change what is read: a store through another argument does not, nor does an atomic
//        whose old values nobody looks at.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "analysis/StagedLoad.h"
#include "support/Target.h"

namespace pantile {

/// What in `loop` may make memory read otherwise through `base` than before: a write, or an access
/// that may have waited for one.
mlir::Operation *memoryChange(mlir::scf::ForOp loop, mlir::Value base);

/// Whether `op` of `loop` only writes, and through another argument than `base`: what a kernel reads
/// ahead for its products lies apart from that, as Triton holds too. Loops around others, such as
/// those over programs, do not read ahead past their stores: a block would hold the operands of two
/// programs.
bool writesApart(mlir::scf::ForOp loop, mlir::Operation *op, mlir::Value base);

/// Whether `load` must read memory itself, when its turn comes.
bool readsAfresh(LoadOp load);

/// Whether the addresses of `load` come from memory that the loop reads.
bool isThroughTable(mlir::scf::ForOp loop, LoadOp load);

struct AheadCopy {
  int bytes = 0;          ///< of one cp.async; 0: there is none
  llvm::StringRef reason; ///< why there is none
  mlir::Operation *culprit = nullptr;
};

/// How `load` of `loop`'s own body can be prefetched into `buffer`.
AheadCopy aheadCopyOf(mlir::scf::ForOp loop, LoadOp load, nv::BufferType buffer,
                      const AxisInfoAnalysis &axes);

/// The blocks that have room when each buffer of `loads` has `stages`, beside the loop's others.
int64_t blocksWithRings(mlir::scf::ForOp loop, llvm::ArrayRef<nv::BufferType> rings, int depth,
                        const Target &target);

} // namespace pantile
