//===- ReleasedStages.h - who has read a stage that is released -------------------------------===//
// An MMA reads a stage for its whole warp. Where threads read it themselves (nv.local_load), one of
// them must not release it before the others of its warp have read.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
constexpr llvm::StringLiteral readByThreads = "nv.read_by_threads"; // unit, on nv.release
} // namespace pantile::names
