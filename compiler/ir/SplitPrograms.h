//===- SplitPrograms.h - what a launch passes to a stream-K kernel ----------------------===//
// Needs: `partial_bytes` of `nv.launch`: bytes of the partial tile of a CTA.
// Gives: the meaning of the two scratch pointers.
// How:   the first is memory: for `mostSplitBlocks` CTAs a flag of 32 bits, in a line of its own,
//        which is zero between launches, then `partial_bytes` per CTA. The second is no pointer but a
//        Cut. With two null pointers all tiles stay whole.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

constexpr int mostSplitBlocks = 1024, wordsOfFlag = 32;
constexpr int64_t splitFlagBytes = 4 * wordsOfFlag * mostSplitBlocks;

/// How tiles are split over CTAs: `cycles` times, `blocks` CTAs share the tiles of `programs` programs.
/// CTA `b` has the place `b / cycles` in cycle `b % cycles`, program `p` likewise: so CTAs of one place,
/// which process the same iterations at the same time, have neighbouring tiles, as CTAs have elsewhere.
struct Cut {
  int cycles = 0, blocks = 0, programs = 0;
  uint64_t packed() const {
    return uint64_t(cycles) | uint64_t(blocks) << 16 | uint64_t(programs) << 32;
  }
  bool operator==(const Cut &) const = default;
};

} // namespace pantile
