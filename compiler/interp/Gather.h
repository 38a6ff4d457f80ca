//===- Gather.h - elements by index, counts, and counters of the machine --------------------===//
// Needs: Launch.h.
// Gives: handlers that pick single elements out of tiles or count them.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"

namespace pantile::interp {

/// dst[o, i, n] <- a[o, b[o, i, n], n]; b: i32. extra: Code::tables, which has the sizes before the
/// dimension, of it in a, of it in b, and behind it. An index beyond the dimension wraps around.
Handler gather(unsigned bytes);
/// dst <- the elements of a at the index in b, along a dimension whose table `extra` has elements
/// before, along and behind it. An index beyond the dimension wraps around.
Handler extract(unsigned bytes);
/// dst <- the index in a, of 64 bits if `isWide`, into a dimension of `extra` elements; fails where
/// there is no such element.
Handler wrapIndex(bool isWide);
/// dst[k] <- how often k occurs among the `count` i32 in a, where b (if `extra` says so in its
/// lowest bit) holds. The other bits of `extra` are the number of bins.
void runHistogram(Frame &frame, const Instr &instr);
/// dst <- element `p * n + i` of a, of `count` bytes, with p in b, n and i in the halves of
/// `extra`.
void runTakeElement(Frame &frame, const Instr &instr);
/// Element `p * n + i` of dst <- a, likewise.
void runPutElement(Frame &frame, const Instr &instr);
/// dst <- nanoseconds of a clock.
void runClock(Frame &frame, const Instr &instr);
/// Fails where the truth value in a is false.
void runAssume(Frame &frame, const Instr &instr);

} // namespace pantile::interp
