//===- RowMajor.h - row-major copies of tiles in scratch -----------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Byte offsets of elements at these coordinates (by dimension) in a row-major copy at `start`;
/// null for absent registers, whose coordinates are poison.
Values rowMajorOffsets(Lowering &l, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<Values> coordinates, int64_t start, unsigned bits);
/// The coordinates of every register, by dimension; poison for absent registers.
std::vector<Values> coordinatesOf(Lowering &l, const LinearLayout &layout);

} // namespace pantile::lower
