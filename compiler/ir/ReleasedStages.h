//===- ReleasedStages.h - releases of stages that threads read themselves ---------------------===//
// An MMA reads a stage for its whole warp. If threads read it themselves (nv.local_load), each orders
// its reads before TMA's next write by a proxy fence, which cp.async does not need, and the warp must
// synchronise before one of its threads releases the stage.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
constexpr llvm::StringLiteral readByThreads = "nv.read_by_threads";   // unit, on nv.release
constexpr llvm::StringLiteral filledByCopies = "nv.filled_by_copies"; // the same, next to it
} // namespace pantile::names
