//===- StreamKCost.h - what splitting a loop over CTAs costs and saves ---------------------===//
// Needs: a loop that findStreamKLoop accepts; tiles have layouts.
// Gives: the costs, in bytes and cycles; for launches also how to count the iterations of a tile.
// How:   An iteration takes as long as it keeps the busiest unit busy. The number of iterations is a
//        polynomial of kernel arguments over a constant, as in `range(0, K, 64)` and
//        `range(cdiv(K, 64))`.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/StreamKLoop.h"

namespace pantile {

/// Bytes of the partial tile that a CTA stores.
int64_t partialTileBytes(const StreamKLoop &found);
/// Cycles of an iteration, of `ctasPerSm` CTAs that share the units of an SM.
double iterationCycles(const StreamKLoop &found, int64_t ctasPerSm);
/// The fewest iterations that a split must save for each partial tile: those of the cycles to write
/// it and to read it by L2, and of two ways there and back. For 128 times 128 elements on an H200 that
/// is 3 to 5 microseconds.
int64_t leastGain(const StreamKLoop &found, int64_t ctasPerSm);

/// By what a launch chooses between `kernel` as it is and stream-K with `ctasPerSm`; null where the
/// arguments do not determine the number of iterations.
nv::StreamKEstimateAttr estimateStreamK(mlir::func::FuncOp kernel, const StreamKLoop &found,
                                        int64_t ctasPerSm);

} // namespace pantile
