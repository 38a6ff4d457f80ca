//===- MemoryOrder.h - along which dimension of a tile memory is contiguous ---------------===//
// Needs: tile IR before or after layouts.
// Gives: for a tile of pointers, how many adjacent elements along each dimension are contiguous in
//        memory, as far as that decides how threads are spread over it.
// How:   AxisInfo proves runs, by which vectors are chosen. Where it proves none, an index that wraps
//        around (`i % n`), or that is limited (`min(i, n)`, `where(i < n, i, 0)`), breaks at one
//        place only, wherever that is: all others have neighbours. So this is no proof, and legality
//        must not depend on it.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"

namespace pantile {

/// Adjacent elements along each dimension of the tile `ptr` that are contiguous in memory.
AxisInfo::PerDim memoryRuns(const AxisInfoAnalysis &axes, mlir::Value ptr);

} // namespace pantile
