//===- ParkedRows.h - what is kept in shared memory for want of registers ------------------===//
// `nv.parked` on the module: array<i32: offset, slots>. From that byte of shared memory on each
// thread has so many words of its own; a slot has one word of each thread, side by side.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"

namespace pantile::names {
constexpr llvm::StringLiteral parked = "nv.parked"; // array<i32: offset, slots>, on the module
} // namespace pantile::names
