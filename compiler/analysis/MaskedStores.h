//===- MaskedStores.h - elements that reach only stores which mask them off --------===//
// Needs: tile IR with layouts, before or after warps are specialised.
// Gives: whether rows of a tile may hold any values, since no store writes them.
// How:   Uses are followed elementwise: through arithmetic, accumulators of MMAs, branches and
//        loops, up to stores and to atomics without a result.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"

namespace pantile {

/// Whether the elements of `start` for which `bound + index[dim] >= 0` reach only stores and
/// atomics whose masks exclude them.
bool reachesMaskedStoresAlone(AffineAnalysis &affine, mlir::Value start, int dim,
                              const Polynomial &bound);

} // namespace pantile
