//===- Residency.h - how many blocks of a kernel share a multiprocessor -------------------===//
// Needs: loops with products in layouts.
// Gives: what a block takes of shared memory and registers, and how many have room for theirs.
// How:   an estimate, before places are given and the assembler has chosen. What is added to a
//        kernel for speed, such as slots, scratch of its own and extra warps, is compared by it: a
//        block less costs more than any of them brings.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/Target.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral withoutKeptBlocks =
    "nv.without_kept_blocks"; // unit, on the module: what is added may take the place of blocks
} // namespace names

/// Of a block.
struct BlockDemand {
  int64_t sharedBytes = 0;
  int64_t registers = 0; ///< of a thread
  int64_t warps = 0;     ///< those that load among them
};

/// Bytes of all slots of a buffer.
int64_t ringBytes(nv::BufferType type);

/// The most bytes of scratch that an operation takes while rings are live: all but the operations
/// behind the last product of a kernel whose blocks run one program each.
int64_t scratchBesideRings(mlir::func::FuncOp kernel);

/// The tiles that loops with products hold, and some for addresses; pointers, which producers take
/// over, left out.
int64_t registersOfProducts(mlir::func::FuncOp kernel);

/// What `kernel` takes, whose producer, if it has one, is a warp.
BlockDemand demandOf(mlir::func::FuncOp kernel);

/// At most three: no more are worth anything else.
int64_t blocksWithRoom(const BlockDemand &demand, const Target &target);

} // namespace pantile
