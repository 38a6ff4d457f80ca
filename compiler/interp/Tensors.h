//===- Tensors.h - copies through tensor maps, and the barriers on which they complete ---------===//
// Needs: Launch.h.
// Gives: Mailbox, and the handlers of tensor maps and barriers.
// How:   a producer runs to its end before the program goes on, as if buffers had stages for all that
//        it copies: what it copies waits with the barrier of its stage, phase by phase, and is written
//        where the program waits for that phase. A map is the 64-bit numbers base, extents and
//        strides (bytes, but of the first dimension), the fastest dimension first.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"
#include <deque>
#include <map>

namespace pantile::interp {

struct Mailbox {
  struct Letter {
    std::byte *place;
    std::vector<std::byte> content;
  };
  using Phase = std::vector<Letter>;
  struct Barrier {
    std::deque<Phase> phases;
    int64_t taken = 0;
  };
  std::map<const std::byte *, Barrier> barriers; ///< by the place of their stage
};

/// A phase begins at the barrier whose address is in a.
void runExpect(Frame &frame, const Instr &instr);
/// The `count` bytes of tile b are to be copied to address a in the last phase of barrier c.
void runPost(Frame &frame, const Instr &instr);
/// Does the copies of the next phase of barrier a, unless the one of parity b was the last.
void runAwait(Frame &frame, const Instr &instr);
/// dst <- the tile at coordinates b of map a; zeros outside of it. extra: Code::boxes.
void runTensorLoad(Frame &frame, const Instr &instr);
/// Writes tile c at coordinates b of map a, but for what is outside of it. extra: Code::boxes.
void runTensorStore(Frame &frame, const Instr &instr);

} // namespace pantile::interp
