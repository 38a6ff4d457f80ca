//===- Gather.h - gathers, histograms and special registers --------------------------------===//
// Needs: Launch.h.
// Gives: handlers that access single elements of tiles or count them.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"

namespace pantile::interp {

/// dst[o, i, n] <- a[o, b[o, i, n], n]; b: i32. extra: Code::tables, with the sizes before the
/// dimension, of it in a, of it in b, and after it. An index outside the dimension wraps around.
Handler gather(unsigned bytes);
/// dst <- the elements of a at index b along a dimension; table `extra`: the number of elements
/// before, along and after it. An index outside the dimension wraps around.
Handler extract(unsigned bytes);
/// dst <- the index in a, of 64 bits if `isWide`, into a dimension of `extra` elements; fails if it
/// is outside.
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
