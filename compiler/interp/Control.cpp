//===- Control.cpp - jumps, copies and positions ------------------------------------------===//
// Needs: see Control.h.
// Gives: the handlers of control flow.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

namespace pantile::interp {
namespace {

template <typename T> void runForTest(Frame &frame, const Instr &instr) {
  T counter = *frame.at<T>(instr.a), bound = *frame.at<T>(instr.b), step = *frame.at<T>(instr.c);
  if (step <= 0)
    return report(frame, instr, ErrorKind::Launch,
                  fmt::format("loop with step {}, which is not positive", step));
  if (counter >= bound)
    frame.pc = instr.extra;
}

template <typename T> void runForStep(Frame &frame, const Instr &instr) {
  T next, step = *frame.at<T>(instr.c);
  bool wraps = __builtin_add_overflow(*frame.at<T>(instr.dst), step, &next);
  if (wraps || next >= *frame.at<T>(instr.b))
    return;
  *frame.at<T>(instr.dst) = next;
  frame.pc = instr.extra;
}

/// Calls `make` with a value of the C++ type of a loop counter.
template <typename Make> Handler forCounter(Elem elem, bool isUnsigned, Make make) {
  switch (elem) {
  case Elem::I8:
    return isUnsigned ? make(uint8_t()) : make(int8_t());
  case Elem::I16:
    return isUnsigned ? make(uint16_t()) : make(int16_t());
  case Elem::I32:
    return isUnsigned ? make(uint32_t()) : make(int32_t());
  case Elem::I64:
    return isUnsigned ? make(uint64_t()) : make(int64_t());
  default:
    return nullptr;
  }
}

} // namespace

void runJump(Frame &frame, const Instr &instr) { frame.pc = instr.extra; }

void runJumpUnless(Frame &frame, const Instr &instr) {
  if (!*frame.at<uint8_t>(instr.a))
    frame.pc = instr.extra;
}

void runCopy(Frame &frame, const Instr &instr) {
  std::memmove(frame.at<std::byte>(instr.dst), frame.at<std::byte>(instr.a), instr.count);
}

void runConstant(Frame &frame, const Instr &instr) {
  const auto &bytes = frame.code->constants[instr.extra];
  std::memcpy(frame.at<std::byte>(instr.dst), bytes.data(), bytes.size());
}

void runArange(Frame &frame, const Instr &instr) {
  uint32_t *dst = frame.at<uint32_t>(instr.dst);
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = instr.extra + i;
}

void runProgramId(Frame &frame, const Instr &instr) {
  *frame.at<int32_t>(instr.dst) = frame.pid[instr.extra];
}

void runNumPrograms(Frame &frame, const Instr &instr) {
  *frame.at<int32_t>(instr.dst) = static_cast<int32_t>(frame.launch->grid[instr.extra]);
}

void runCtaId(Frame &frame, const Instr &instr) { *frame.at<int32_t>(instr.dst) = frame.cta; }

void runNumCtas(Frame &frame, const Instr &instr) {
  *frame.at<int32_t>(instr.dst) = static_cast<int32_t>(frame.launch->ctas);
}

void runProgramCount(Frame &frame, const Instr &instr) {
  const Grid &grid = frame.launch->grid;
  *frame.at<int32_t>(instr.dst) = static_cast<int32_t>(grid[0] * grid[1] * grid[2]);
}

void runProgramAt(Frame &frame, const Instr &instr) {
  int64_t program = *frame.at<int32_t>(instr.a);
  for (uint32_t axis = 0; axis < instr.extra; ++axis)
    program /= frame.launch->grid[axis];
  if (instr.extra < 2)
    program %= frame.launch->grid[instr.extra];
  *frame.at<int32_t>(instr.dst) = static_cast<int32_t>(program);
}

void runReturn(Frame &frame, const Instr &) {
  frame.done = true;
  frame.stop = true;
}

Handler forTest(Elem elem, bool isUnsigned) {
  return forCounter(elem, isUnsigned,
                    [](auto type) -> Handler { return runForTest<decltype(type)>; });
}
Handler forStep(Elem elem, bool isUnsigned) {
  return forCounter(elem, isUnsigned,
                    [](auto type) -> Handler { return runForStep<decltype(type)>; });
}

void runBackedge(Frame &frame, const Instr &instr) {
  const Backedge &edge = frame.code->backedges[instr.extra];
  bool changed = false;
  for (const LoopMove &move : edge.moves) {
    std::byte *dst = frame.at<std::byte>(move.dst);
    const std::byte *src = frame.at<std::byte>(move.src);
    if (std::memcmp(dst, src, move.bytes) != 0) {
      changed = true;
      std::memmove(dst, src, move.bytes);
    }
  }
  frame.pc = edge.target;
  if (changed && !frame.touchedShared)
    return;
  frame.progressed = changed;
  frame.touchedShared = false;
  frame.stop = true;
  if (!frame.lastShared)
    frame.lastShared = &instr;
}

} // namespace pantile::interp
