//===- Tensors.h - copies through tensor maps, and the barriers on which they complete --===//
// Needs: Launch.h.
// Gives: Mailbox, and the handlers of tensor maps and barriers.
// How:   A producer runs to its end before the rest of the program, as if buffers had a stage for
//        every copy: its copies are queued with the barrier of their stage, phase by phase, and are
//        done when the program waits for that phase. A map is the 64-bit numbers base, extents and
//        strides (in bytes, but of the first dimension), fastest dimension first.
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
    std::map<uint32_t, int64_t> expected; ///< phases that have started, by the number of a producer
  };
  std::map<const std::byte *, Barrier> barriers; ///< by the address of the barrier
};

/// The next phase of producer `extra` starts at the barrier whose address is in a.
void runExpect(Frame &frame, const Instr &instr);
/// Queues a copy of the `count` bytes of tile b to address a in that phase of barrier c.
void runPost(Frame &frame, const Instr &instr);
/// Does the copies of the next phase of barrier a, unless the phase of parity b is over.
void runAwait(Frame &frame, const Instr &instr);
/// dst <- the tile at coordinates b of map a; zeros outside the map. extra: Code::boxes.
void runTensorLoad(Frame &frame, const Instr &instr);
/// Writes the elements of tile c that are inside map a, at coordinates b. extra: Code::boxes.
void runTensorStore(Frame &frame, const Instr &instr);

} // namespace pantile::interp
