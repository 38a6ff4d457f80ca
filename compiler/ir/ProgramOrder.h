//===- ProgramOrder.h - which programs of a grid start first ------------------------------===//
// Blocks start in the order of their index. Along the axes that OrderPrograms names, a block runs
// the program counted from the end.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile::names {
constexpr llvm::StringLiteral lastFirst = "nv.last_first"; // i32 array, on the module: axes
} // namespace pantile::names
