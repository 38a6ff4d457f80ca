//===- StreamKModel.h - which tiles stream-K splits, and what that gains ------------------===//
// Needs: the programs of a launch, the CTAs that run at once, a StreamKEstimate.
// Gives: the WorkSplit of the launch, and its predicted speed relative to whole tiles.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/StreamK.h"
#include "support/MachineModel.h"
#include "support/WorkSplit.h"

namespace pantile {

/// Splits programs so that all CTAs end at nearly the same time, in as many cycles as possible, since
/// CTAs at one place of their cycles read the same operands. With more programs than CTAs a cycle has
/// one program per CTA and its part of the last wave; with fewer, all programs. Empty if every wave
/// is full.
WorkSplit workSplitOf(int64_t programs, int ctas);

/// The tiles of a launch.
struct TileCount {
  int64_t programs = 0, iterations = 0; ///< `iterations` of one program
};

/// Predicts the time without stream-K over that with it; 1 where no tile would be split. `ctas` run at
/// once on `sms` SMs.
double streamKSpeedup(const StreamKEstimate &estimate, const MemoryThresholds &costs,
                      TileCount count, int ctas, int sms);

} // namespace pantile
