//===- MmaLayout.h - layouts of the accumulators of asynchronous MMAs ---------------------===//
#pragma once
#include "ir/Tile.h"
#include <optional>

namespace pantile {

/// Returns the layout of an accumulator of `shape` if `mma` is an instruction of asynchronous MMAs
/// (nv.AsyncMmaOpInterface); nothing for other instructions.
std::optional<LinearLayout> asyncAccumulatorLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape);

} // namespace pantile
