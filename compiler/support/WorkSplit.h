//===- WorkSplit.h - what a launch passes to a stream-K kernel ----------------------===//
// Needs: `partial_bytes` of `nv.launch`: the bytes of one CTA's partial tile.
// Gives: the meaning of the two scratch pointers that a launch passes to a stream-K kernel.
// How:   1. The first one points to memory. It begins with `mostSplitCtas` flags, one per CTA. A
//           flag has 32 bits and a cache line of its own, and is zero between launches. After the
//           flags come the partial tiles, `partial_bytes` per CTA.
//        2. The second one is not used as a pointer: its 64 bits are a WorkSplit.
//        3. If both are zero, no tile is split.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

constexpr int mostSplitCtas = 1024, wordsOfFlag = 32;
/// Of a tile: so all iterations of the tiles that are split can be counted in 32 bits.
constexpr int64_t mostSplitIterations = (int64_t(1) << 31) / (2 * mostSplitCtas);
constexpr int64_t splitFlagBytes = 4 * wordsOfFlag * mostSplitCtas;

/// How tiles are split over CTAs: `cycles` times, `ctas` CTAs share the tiles of `programs` programs.
/// CTA `b` has the place `b / cycles` in cycle `b % cycles`, program `p` likewise: so CTAs of one place,
/// which process the same iterations at the same time, have neighbouring tiles, as CTAs have elsewhere.
struct WorkSplit {
  int cycles = 0, ctas = 0, programs = 0;
  uint64_t packed() const {
    return uint64_t(cycles) | uint64_t(ctas) << 16 | uint64_t(programs) << 32;
  }
  bool operator==(const WorkSplit &) const = default;
};

} // namespace pantile
