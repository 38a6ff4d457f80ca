//===- MmaLayout.h - where an instruction leaves its accumulator --------------------------===//
#pragma once
#include "ir/Tile.h"
#include <optional>

namespace pantile {

/// The layout of an accumulator of `shape` where `mma` is an instruction of asynchronous MMAs
/// (nv.AsyncMmaOpInterface); none for other instructions.
std::optional<LinearLayout> asyncAccumulatorLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape);

} // namespace pantile
