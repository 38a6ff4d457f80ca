//===- TileParts.h - parts of tiles, taken and put into others ------------------------------===//
// Needs: constant offsets and strides within the tile; indices of run time within its dimension.
// Gives: the operations that take a part, put one into a whole, take at an index, and reverse.
// How:   between powers of two they are operations of their own, which move registers where they
//        can. Any other extent is gathered along one dimension after the other, and a remark says so.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// Where the elements of a part lie, for each dimension.
struct Places {
  llvm::SmallVector<int32_t> offsets, strides;
};

/// The elements of `tile` at these places, of this shape.
Runtime takePart(Emitter &e, const Runtime &tile, const Places &places, const Shape &shape);
/// `whole` with `part` at these places.
Runtime putPart(Emitter &e, const Runtime &part, const Runtime &whole, const Places &places);
/// The elements of `tile` at one index along `axis`, which keeps extent 1.
Runtime takeAt(Emitter &e, const Runtime &tile, const Runtime &index, int64_t axis);
/// The elements in reverse order along `axis`.
Runtime turnRound(Emitter &e, const Runtime &tile, int64_t axis);

} // namespace pantile
