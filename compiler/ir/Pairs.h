//===- Pairs.h - blocks of a persistent kernel that load for each other --------------------===//
// `nv.pairs` on the module: blocks come in clusters of two, whose programs are neighbours. A slot is
// free when the consumers of both have released it, and a tile that both read may be copied by
// halves to both (`nv.tma_load ... to both`). The launcher's grid is even.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile::names {
constexpr llvm::StringLiteral pairs = "nv.pairs"; // unit, on the module
} // namespace pantile::names
