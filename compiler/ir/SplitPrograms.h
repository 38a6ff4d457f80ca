//===- SplitPrograms.h - kernels whose programs may be split over CTAs -----------------===//
// Needs: `partial_bytes` of `nv.launch`: bytes of the part of a sum that a block hands over.
// Gives: what launches of such a kernel pass as the two scratch pointers.
// How:   the first is memory: for `mostSplitBlocks` blocks a flag of 32 bits, in a line of its own,
//        which is zero between launches, then `partial_bytes` a block. The second is no pointer but a
//        Cut. Two null pointers are as good: then each program runs whole.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

constexpr int mostSplitBlocks = 1024, wordsOfFlag = 32;
constexpr int64_t splitFlagBytes = 4 * wordsOfFlag * mostSplitBlocks;

/// As often as `cycles`, `blocks` blocks share `programs` programs. Block `b` has the place
/// `b / cycles` in cycle `b % cycles`, program `p` likewise: so blocks of one place, which walk through
/// the same iterations at the same time, have neighbouring programs, as blocks have elsewhere.
struct Cut {
  int cycles = 0, blocks = 0, programs = 0;
  uint64_t packed() const {
    return uint64_t(cycles) | uint64_t(blocks) << 16 | uint64_t(programs) << 32;
  }
  bool operator==(const Cut &) const = default;
};

} // namespace pantile
