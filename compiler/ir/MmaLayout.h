//===- MmaLayout.h - layouts of what asynchronous MMAs hold in registers ------------------===//
#pragma once
#include "ir/Tile.h"
#include <optional>

namespace pantile {

/// Returns the layout of an accumulator of `shape` if `mma` is an instruction of asynchronous MMAs
/// (nv.AsyncMmaOpInterface); nothing for other instructions.
std::optional<LinearLayout> asyncAccumulatorLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape);

/// The layout of a left operand of `shape` that wgmma reads from registers, in elements of
/// `elementBits`.
LinearLayout wgmmaLeftLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape, int elementBits);

} // namespace pantile
