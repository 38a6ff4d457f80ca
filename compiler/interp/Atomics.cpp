//===- Atomics.cpp - atomic operations on memory ------------------------------------------===//
// Needs: Memory.h.
// Gives: runAtomicRmw, runAtomicCas, runAtomicRead, runAtomicPoll and what goes before it.
// How:   Element by element in row-major order, by compare-and-exchange on the element's bits,
//        always with the strongest memory order. A poll that has to wait suspends its program,
//        which polls again when it is resumed.
//===------------------------------------------------------------------------------------===//
#include "interp/Memory.h"
#include "interp/kernels/Narrow.h"
#include <algorithm>
#include <bit>
#include <chrono>
#include <fmt/format.h>

namespace pantile::interp {
namespace {

template <typename F> F combineFloats(RmwOp op, F a, F b) {
  switch (op) {
  case RmwOp::AddF:
    return a + b;
  case RmwOp::MaxF:
    return a > b || b != b ? a : b;
  case RmwOp::MinF:
    return a < b || b != b ? a : b;
  default:
    return b;
  }
}

template <typename U> U combineInts(RmwOp op, U a, U b) {
  using S = std::make_signed_t<U>;
  S sa = static_cast<S>(a), sb = static_cast<S>(b);
  switch (op) {
  case RmwOp::Add:
    return static_cast<U>(a + b);
  case RmwOp::MaxS:
    return static_cast<U>(std::max(sa, sb));
  case RmwOp::MinS:
    return static_cast<U>(std::min(sa, sb));
  case RmwOp::MaxU:
    return std::max(a, b);
  case RmwOp::MinU:
    return std::min(a, b);
  case RmwOp::And:
    return a & b;
  case RmwOp::Or:
    return a | b;
  case RmwOp::Xor:
    return a ^ b;
  default:
    return b;
  }
}

template <typename Narrow> Narrow combineNarrow(RmwOp op, Narrow a, Narrow b) {
  return fromFloat<Narrow>(combineFloats(op, toFloat(a), toFloat(b)));
}

/// The bits that memory has after `op`, from the bits before it and those of the operand.
template <typename U> U combine(RmwOp op, Elem elem, U a, U b) {
  bool floating = op == RmwOp::AddF || op == RmwOp::MaxF || op == RmwOp::MinF;
  if (!floating)
    return combineInts(op, a, b);
  if constexpr (sizeof(U) == 8)
    return std::bit_cast<U>(combineFloats(op, std::bit_cast<double>(a), std::bit_cast<double>(b)));
  else if constexpr (sizeof(U) == 4)
    return std::bit_cast<U>(combineFloats(op, std::bit_cast<float>(a), std::bit_cast<float>(b)));
  else if constexpr (sizeof(U) == 2)
    return elem == Elem::F16 ? combineNarrow(op, Half{a}, Half{b}).bits
                             : combineNarrow(op, BFloat{a}, BFloat{b}).bits;
  else
    return elem == Elem::F8E4M3 ? combineNarrow(op, E4M3{a}, E4M3{b}).bits
                                : combineNarrow(op, E5M2{a}, E5M2{b}).bits;
}

/// Calls `run` with a value of the unsigned type of `bytes` bytes.
template <typename Run> void forStorage(unsigned bytes, Run run) {
  if (bytes == 1)
    run(uint8_t());
  else if (bytes == 2)
    run(uint16_t());
  else if (bytes == 4)
    run(uint32_t());
  else
    run(uint64_t());
}

/// Checks bounds and alignment of all lanes; false after an error.
bool mayAccess(Frame &frame, const Instr &instr, const Access &access, const uint8_t *mask,
               Direction direction = Direction::Write) {
  frame.touchedShared = true;
  frame.lastShared = &instr;
  if (!checkAccess(frame, instr, access, mask, direction))
    return false;
  const uint64_t *addresses = frame.at<uint64_t>(instr.a);
  unsigned bytes = sizeOf(access.elem);
  for (size_t i = 0; i < size_t(access.rows) * access.cols; ++i)
    if ((!mask || mask[i]) && addresses[i] % bytes != 0) {
      report(
          frame, instr, ErrorKind::Launch,
          fmt::format("atomic on {} bytes at an address that is no multiple of {}", bytes, bytes));
      return false;
    }
  return true;
}

/// Replaces *target by change(*target) and returns the old value.
template <typename U, typename Change> U exchange(Frame &frame, U *target, Change change) {
  U seen = __atomic_load_n(target, __ATOMIC_SEQ_CST), next;
  do
    next = change(seen);
  while (
      !__atomic_compare_exchange_n(target, &seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (next != seen && frame.code->spins)
    frame.launch->changes.fetch_add(1);
  return seen;
}

uint64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Reads the elements of `dst` that are not as `expected` yet. Returns whether all are now, and
/// whether one of them became so.
template <typename U>
std::pair<bool, bool> pollOnce(Frame &frame, const Instr &instr, size_t count) {
  const uint64_t *addresses = frame.at<uint64_t>(instr.a);
  const U *expected = frame.at<U>(instr.c);
  U *dst = frame.at<U>(instr.dst);
  bool all = true, some = false;
  for (size_t i = 0; i < count; ++i) {
    if (dst[i] == expected[i])
      continue;
    dst[i] = __atomic_load_n(reinterpret_cast<U *>(addresses[i]), __ATOMIC_SEQ_CST);
    all &= dst[i] == expected[i];
    some |= dst[i] == expected[i];
  }
  return {all, some};
}

} // namespace

void runAtomicRead(Frame &frame, const Instr &instr) {
  const Access &access = frame.code->atomics[instr.extra].access;
  const uint8_t *mask = access.masked ? frame.at<uint8_t>(instr.b) : nullptr;
  if (!mayAccess(frame, instr, access, mask, Direction::Read)) {
    if (frame.stop)
      return;
    mask = allowedLanes.data();
  }
  forStorage(sizeOf(access.elem), [&](auto type) {
    using U = decltype(type);
    const uint64_t *addresses = frame.at<uint64_t>(instr.a);
    U *dst = frame.at<U>(instr.dst);
    for (size_t i = 0; i < size_t(access.rows) * access.cols; ++i)
      dst[i] = mask && !mask[i]
                   ? U(0)
                   : __atomic_load_n(reinterpret_cast<U *>(addresses[i]), __ATOMIC_SEQ_CST);
  });
}

void runPollStart(Frame &frame, const Instr &instr) {
  const Access &access = frame.code->atomics[instr.extra].access;
  const uint8_t *expected = frame.at<uint8_t>(instr.c);
  uint8_t *dst = frame.at<uint8_t>(instr.dst);
  for (size_t i = 0; i < size_t(access.rows) * access.cols * sizeOf(access.elem); ++i)
    dst[i] = ~expected[i];
}

void runDeadline(Frame &frame, const Instr &instr) {
  const uint64_t now = nanoseconds(), timeout = *frame.at<uint64_t>(instr.a);
  *frame.at<uint64_t>(instr.dst) = timeout > UINT64_MAX - now ? UINT64_MAX : now + timeout;
}

void runAtomicPoll(Frame &frame, const Instr &instr) {
  const Access &access = frame.code->atomics[instr.extra].access;
  if (!mayAccess(frame, instr, access, nullptr, Direction::Read)) {
    if (!frame.stop)
      fail(frame, instr, "`atomic_poll` waits for memory outside of the kernel's arguments");
    return;
  }
  forStorage(sizeOf(access.elem), [&](auto type) {
    const auto [all, some] =
        pollOnce<decltype(type)>(frame, instr, size_t(access.rows) * access.cols);
    const bool hasDeadline = access.masked;
    if (all || (hasDeadline && nanoseconds() >= *frame.at<uint64_t>(instr.b)))
      return;
    --frame.pc;
    frame.stop = true;
    frame.progressed = some || hasDeadline;
  });
}

void runAtomicRmw(Frame &frame, const Instr &instr) {
  const Atomic &atomic = frame.code->atomics[instr.extra];
  const Access &access = atomic.access;
  const uint8_t *mask = access.masked ? frame.at<uint8_t>(instr.b) : nullptr;
  if (!mayAccess(frame, instr, access, mask))
    return;
  forStorage(sizeOf(access.elem), [&](auto type) {
    using U = decltype(type);
    const uint64_t *addresses = frame.at<uint64_t>(instr.a);
    const U *values = frame.at<U>(instr.c);
    U *dst = frame.at<U>(instr.dst);
    for (size_t i = 0; i < size_t(access.rows) * access.cols; ++i) {
      if (mask && !mask[i]) {
        dst[i] = 0;
        continue;
      }
      dst[i] = exchange(frame, reinterpret_cast<U *>(addresses[i]),
                        [&](U seen) { return combine(atomic.op, access.elem, seen, values[i]); });
    }
  });
}

void runAtomicCas(Frame &frame, const Instr &instr) {
  const Access &access = frame.code->atomics[instr.extra].access;
  if (!mayAccess(frame, instr, access, nullptr))
    return;
  forStorage(sizeOf(access.elem), [&](auto type) {
    using U = decltype(type);
    const uint64_t *addresses = frame.at<uint64_t>(instr.a);
    const U *expected = frame.at<U>(instr.b), *values = frame.at<U>(instr.c);
    U *dst = frame.at<U>(instr.dst);
    for (size_t i = 0; i < size_t(access.rows) * access.cols; ++i)
      dst[i] = exchange(frame, reinterpret_cast<U *>(addresses[i]),
                        [&](U seen) { return seen == expected[i] ? values[i] : seen; });
  });
}

} // namespace pantile::interp
