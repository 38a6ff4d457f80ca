//===- CopyFill.h - zeros of masked copies that are stored once ------------------------------===//
// Between ExpandPipeline, which knows that a loop copies under one mask, and the lowering of
// `nv.copy_async`: nothing else writes to a stage of a circular buffer, so zeros stay where they are.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
// Units, on nv.copy_async.
constexpr llvm::StringLiteral keepsZeros = "nv.keeps_zeros"; // what is masked off holds zeros
constexpr llvm::StringLiteral onlyZeros = "nv.only_zeros";   // stores these, and copies nothing
} // namespace pantile::names
