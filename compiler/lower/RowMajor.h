//===- RowMajor.h - elements of a tile that lie row-major in scratch ------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Byte offsets of elements at these coordinates (by dimension) in a row-major copy at `start`.
Values rowMajorOffsets(Lowering &l, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<Values> coordinates, int64_t start, unsigned bits);
/// The coordinates of every register, by dimension.
std::vector<Values> coordinatesOf(Lowering &l, const LinearLayout &layout);

} // namespace pantile::lower
