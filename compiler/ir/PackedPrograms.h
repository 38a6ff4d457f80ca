//===- PackedPrograms.h - programs of one warp that may share a block ----------------------===//
// `nv.programs_per_block` on the module: a launch may put up to so many programs, a power of two,
// that are neighbours along the grid's first axis into one block, a warp each. The kernel reads from
// the block's size how many they are; a block of one warp is one program.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile::names {
constexpr llvm::StringLiteral programsPerBlock = "nv.programs_per_block"; // i32, on the module
} // namespace pantile::names
