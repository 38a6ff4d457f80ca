//===- SpreadRows.h - programs that several blocks run together ----------------------------===//
// `nv.blocks_per_program` on the module: so many blocks, a power of two, are a cluster and run one
// program, each with its part of the row. They are neighbours along the grid's first axis, of which a
// launch starts so many times as many blocks as there are programs.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile::names {
constexpr llvm::StringLiteral blocksPerProgram = "nv.blocks_per_program"; // i32, on the module
} // namespace pantile::names
