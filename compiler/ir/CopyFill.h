//===- CopyFill.h - zeros of masked-off elements that are stored once -------------------------===//
// ExpandPipeline sets these attributes and the lowering of `nv.copy_async` reads them. If all
// copies of a loop into a circular buffer have the same mask, the zeros of masked-off elements need
// to be stored only once, before the loop: nothing else writes to the buffer.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
// Units, on nv.copy_async.
constexpr llvm::StringLiteral keepsZeros =
    "nv.keeps_zeros";                                      // masked-off elements are zeros already
constexpr llvm::StringLiteral onlyZeros = "nv.only_zeros"; // stores the zeros, and copies nothing
} // namespace pantile::names
