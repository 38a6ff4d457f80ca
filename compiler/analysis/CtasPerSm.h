//===- CtasPerSm.h - estimate how many CTAs of a kernel fit an SM ------------------===//
// Needs: loops with MMAs, with layouts.
// Gives: the shared memory and the registers that a CTA needs, and how many CTAs fit an SM with
//        them.
// How:   An estimate, made before shared memory is allocated and before ptxas allocates registers.
//        Passes compare with it what a change for speed, such as another stage or scratch that is
//        not shared, costs in occupancy: one CTA per SM instead of two loses more than any of them
//        gains. (lower/Occupancy.h chooses the occupancy for which ptxas allocates registers.)
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StagedLoad.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "support/Target.h"

namespace pantile {
struct SharedChange;

/// Bytes of all stages of a buffer.
int64_t bufferBytes(nv::BufferType type);

/// The operation of the kernel's body that is or contains its last MMA; null if there is none.
mlir::Operation *lastMma(mlir::func::FuncOp kernel);

/// The most bytes of scratch that an operation needs while circular buffers are live. In a
/// persistent kernel all operations count; else those after the last MMA do not.
int64_t scratchWithLiveBuffers(mlir::func::FuncOp kernel, bool isPersistent);

/// Registers per thread for the tiles that a loop holds, and some for addresses. Carried tiles of
/// pointers do not count.
int64_t registersWithoutPointers(mlir::scf::ForOp loop);

/// The most registersWithoutPointers() of a loop with asynchronous MMAs. Producers take over the
/// pointers.
int64_t registersOfMmaLoops(mlir::func::FuncOp kernel);

/// The same for all MMAs in loops, in the final IR: for mma.sync with the operands of one dot.
int64_t registersOfMmas(mlir::func::FuncOp kernel);

/// The resources that a CTA of `kernel` needs, those of a producer included.
CtaDemand demandOf(mlir::func::FuncOp kernel);

/// Whether as many CTAs fit an SM after `change` as before, by the offsets of shared memory.
bool keepsCtas(mlir::func::FuncOp kernel, const SharedChange &change);

/// Whether circular buffers of `depth` stages for `loads` of `loop` leave as many CTAs per SM as
/// those of one less. Other buffers of loops do not count.
bool hasRoomForStage(mlir::scf::ForOp loop, llvm::ArrayRef<StagedLoad> loads, int depth);

/// The number of CTAs per SM below which no pass may go to add stages or scratch; one more if
/// `third`.
int64_t ctasToKeep(const MachineModel &machine, bool third);

} // namespace pantile
