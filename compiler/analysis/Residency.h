//===- Residency.h - how many blocks of a kernel share an SM -------------------===//
// Needs: loops with products in layouts.
// Gives: what a block takes of shared memory and registers, and how many have room for theirs.
// How:   an estimate, before places are given and the assembler has chosen. What is added to a
//        kernel for speed, such as stages and scratch of its own, is compared by it: an SM
//        with one block instead of two loses more than any of them brings.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "support/Target.h"

namespace pantile {

/// Bytes of all stages of a buffer.
int64_t ringBytes(nv::BufferType type);

/// The most bytes of scratch that an operation takes while circular buffers are live: of `follow`ing programs
/// all, of a kernel whose blocks run one program each not those behind the last product.
int64_t scratchBesideRings(mlir::func::FuncOp kernel, bool follow);

/// The tiles that a loop holds, and some for addresses, but its pointers.
int64_t registersWithoutPointers(mlir::scf::ForOp loop);

/// The tiles that loops with products hold, and some for addresses; pointers, which producers take
/// over, left out.
int64_t registersOfProducts(mlir::func::FuncOp kernel);

/// The same of all MMAs in loops, at the last stage: of mma.sync with the operands of one dot.
int64_t registersOfMmas(mlir::func::FuncOp kernel);

/// What `kernel` takes, the warps of a producer among its own.
CtaDemand demandOf(mlir::func::FuncOp kernel);

/// How many CTAs of an SM are worth more than what is added to each; one more if that was asked for.
int64_t ctasToKeep(const MachineModel &machine, bool third);

} // namespace pantile
