//===- SelectMma.h - what the choice of instructions may be told -------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
constexpr llvm::StringLiteral withoutWgmma =
    "tile.without_wgmma"; // unit, on the module: dots run on mma.sync at best
} // namespace pantile::names
