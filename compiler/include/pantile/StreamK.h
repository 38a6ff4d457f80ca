//===- StreamK.h - how a launch predicts whether stream-K pays ----------------------------===//
// Whether tiles should be split over CTAs follows from the grid and from the length of K, which are
// known only at launch. So a kernel for which stream-K is legal has an estimate, and a variant that
// splits its tiles; a launch runs that variant where the estimate says that it is faster.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/TensorMap.h"

namespace pantile {

/// What the time of a launch with stream-K and without it depends on.
struct StreamKEstimate {
  HostPolynomial dividend;  ///< iterations of a tile, times `divisor`
  int64_t divisor = 1;      ///< positive; the quotient is rounded down
  int64_t smCycles = 1;     ///< of an iteration, by the busiest unit of the SM; positive
  int64_t l2Cycles = 0;     ///< of an iteration, if all SMs read as much of L2
  int64_t leastGain = 1;    ///< iterations that a split must save for each partial tile; positive
  int64_t partialBytes = 0; ///< of a partial tile
  bool operator==(const StreamKEstimate &) const = default;
};

} // namespace pantile
