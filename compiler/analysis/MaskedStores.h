//===- MaskedStores.h - elements that reach only stores which mask them off ----------------===//
// Needs: tile IR with layouts, before or after warps are specialised.
// Gives: whether rows of a tile may hold anything, since no store writes them.
// How:   uses are followed element by element: through arithmetic, MMAs that add to them, branches
//        and loops, up to stores and atomics without a result.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"

namespace pantile {

/// Whether the elements of `start` for which `bound + index[dim] >= 0` reach only stores and atomics
/// whose masks leave them out.
bool reachesMaskedStoresAlone(AffineAnalysis &affine, mlir::Value start, int dim,
                              const Polynomial &bound);

} // namespace pantile
