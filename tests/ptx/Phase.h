//===- Phase.h - the word of an mbarrier ---------------------------------------------===//
// Needs: Machine.h.
// Gives: Phase, completePhase, barrierOf.
// How:   A word of shared memory holds a mark, the phase, pending arrivals, arrivals per phase, and
//        expected bytes.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Machine.h"

namespace pantile::ptx {

/// What the word of a barrier holds.
struct Phase {
  static constexpr Word mark = 0x5a;
  unsigned parity, left, count;
  int bytes;

  static Phase from(Warp &w, const Instruction &i, const uint8_t *place) {
    Word word;
    std::memcpy(&word, place, 8);
    if (word >> 56 != mark)
      w.fault(i, "there is no mbarrier at this address");
    return {unsigned(word >> 55 & 1), unsigned(word >> 43 & 0xfff), unsigned(word >> 31 & 0xfff),
            int(word & 0x7fffffff) << 1 >> 1};
  }
  void to(uint8_t *place) const {
    const Word word = mark << 56 | Word(parity) << 55 | Word(left & 0xfff) << 43 |
                      Word(count & 0xfff) << 31 | (bytes & 0x7fffffff);
    std::memcpy(place, &word, 8);
  }
  /// True if the phase is over; the next one begins.
  bool flip() {
    if (left || bytes)
      return false;
    parity ^= 1;
    left = count;
    return true;
  }
};

/// The barrier at `address` of `cta`, which was initialised.
MBarrier &barrierOf(const Warp &w, const Instruction &i, Cta &cta, uint32_t address);

/// The phase is over: threads that wait for it learn what the others handed on.
void completePhase(MBarrier &barrier);

/// A fault if the initialisation was not fenced: another CTA or TMA uses the barrier.
void requireInitFenced(const Warp &w, const Instruction &i, const MBarrier &barrier);

} // namespace pantile::ptx
