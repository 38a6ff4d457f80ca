//===- SelectMma.h - what the choice of instructions may be told -------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
constexpr llvm::StringLiteral withoutWgmma =
    "tile.without_wgmma"; // unit, on the module: dots run on mma.sync at best
constexpr llvm::StringLiteral fp32OnMmaSync =
    "tile.fp32_on_mma_sync"; // unit, on the module: what fp32 needs for wgmma does not fit
} // namespace pantile::names
