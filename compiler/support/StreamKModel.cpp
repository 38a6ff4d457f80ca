//===- StreamKModel.cpp - which tiles stream-K splits, and what that gains ----------------===//
// Gives: see StreamKModel.h.
// How:   An iteration takes as long as the busiest unit of an SM works for the CTAs there, or L2 for
//        all CTAs that work: so those of the last wave are faster. With stream-K the CTAs have equal
//        parts of the last waves; a tile's last CTA then adds the partial tiles of the others.
//===------------------------------------------------------------------------------------===//
#include "support/StreamKModel.h"
#include <algorithm>

namespace pantile {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// What the kernel computes at its start (WorkRanges.cpp): into how long pieces tiles are split, and
/// whether that saves more than the partial tiles cost.
struct Pieces {
  int64_t sharers = 1, each = 1, ofTile = 1;
  bool pay = false;
};

Pieces piecesOf(const WorkSplit &split, TileCount count, int64_t leastGain, bool isMoreThanWave) {
  Pieces pieces;
  const int64_t total = split.programs * count.iterations;
  pieces.sharers = std::clamp<int64_t>(total / (2 * leastGain), 1, split.ctas);
  pieces.each = std::max<int64_t>(total / pieces.sharers, 1);
  pieces.ofTile = ceilDiv(count.iterations, pieces.each);
  const int64_t whole = isMoreThanWave ? 2 * count.iterations : count.iterations;
  pieces.pay = pieces.ofTile * leastGain < whole - pieces.each;
  return pieces;
}

} // namespace

WorkSplit workSplitOf(int64_t programs, int ctas) {
  const int rest = static_cast<int>(programs % ctas);
  if (rest == 0)
    return {};
  if (programs < ctas) {
    constexpr double almostAll = 0.85;
    const int each = ctas / rest;
    return each * rest >= almostAll * ctas ? WorkSplit{rest, each, 1} : WorkSplit{1, ctas, rest};
  }
  constexpr int mostInCycle = 8;
  WorkSplit best;
  auto consider = [&](int inCycle, int extra) {
    const int cycles = rest / extra;
    if (extra < inCycle && rest % extra == 0 && inCycle * cycles <= ctas &&
        (best.cycles == 0 || (inCycle + extra) * best.ctas < best.programs * inCycle))
      best = {cycles, inCycle, inCycle + extra};
  };
  consider(ctas / rest, 1);
  for (int inCycle = 2; inCycle <= mostInCycle; ++inCycle)
    consider(inCycle, (rest * inCycle + ctas - 1) / ctas);
  return best;
}

double streamKSpeedup(const StreamKEstimate &estimate, const MemoryThresholds &costs,
                      TileCount count, int ctas, int sms) {
  const WorkSplit split = workSplitOf(count.programs, ctas);
  if (split.cycles == 0 || ctas > mostSplitCtas || count.iterations < 1 ||
      count.iterations >= mostSplitIterations)
    return 1;
  const Pieces pieces = piecesOf(split, count, estimate.leastGain, count.programs > ctas);
  if (!pieces.pay)
    return 1;
  auto ofIteration = [&](int64_t working) { // by so many CTAs at once
    const int64_t ofSm = std::min<int64_t>(std::max(ctas / sms, 1), ceilDiv(working, sms));
    return std::max(double(ofSm * estimate.smCycles),
                    double(working * estimate.l2Cycles) / double(sms));
  };
  const int64_t waves = count.programs / ctas, rest = count.programs % ctas;
  const double wholeWaves =
      double(count.programs - int64_t(split.cycles) * split.programs) / double(ctas);
  const double without =
      double(count.iterations) * (double(waves) * ofIteration(ctas) + ofIteration(rest));
  const double ofPartial =
      std::max(double(estimate.partialBytes) / costs.partialBytesPerCycle, costs.partialLoadCycles);
  const double with = double(count.iterations) * wholeWaves * ofIteration(ctas) +
                      double(pieces.each) * ofIteration(split.cycles * pieces.sharers) +
                      costs.flagCycles + double(pieces.ofTile) * ofPartial;
  return without / with;
}

} // namespace pantile
