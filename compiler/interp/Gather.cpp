//===- Gather.cpp - see Gather.h ----------------------------------------------------------===//
#include "interp/Gather.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

namespace pantile::interp {
namespace {

/// What an index outside the dimension is replaced by: its lowest bits, or the last index.
uint32_t bounded(uint32_t index, uint32_t length) {
  return std::has_single_bit(length) ? index & (length - 1) : std::min(index, length - 1);
}

template <typename T> void runGather(Frame &frame, const Instr &instr) {
  const std::vector<uint32_t> &sizes = frame.code->tables[instr.extra];
  const uint32_t outer = sizes[0], length = sizes[1], picks = sizes[2], inner = sizes[3];
  T *dst = frame.at<T>(instr.dst);
  const T *src = frame.at<T>(instr.a);
  const uint32_t *index = frame.at<uint32_t>(instr.b);
  for (uint32_t o = 0; o < outer; ++o)
    for (uint32_t i = 0; i < picks; ++i)
      for (uint32_t n = 0; n < inner; ++n) {
        const size_t at = (size_t(o) * picks + i) * inner + n;
        dst[at] = src[(size_t(o) * length + bounded(index[at], length)) * inner + n];
      }
}

template <typename T> void runExtract(Frame &frame, const Instr &instr) {
  const std::vector<uint32_t> &sizes = frame.code->tables[instr.extra];
  const uint32_t outer = sizes[0], length = sizes[1], inner = sizes[2];
  const size_t index = *frame.at<uint32_t>(instr.b) & (length - 1);
  T *dst = frame.at<T>(instr.dst);
  const T *src = frame.at<T>(instr.a) + index * inner;
  for (uint32_t o = 0; o < outer; ++o)
    std::copy_n(src + size_t(o) * length * inner, inner, dst + size_t(o) * inner);
}

template <typename T> void runWrapIndex(Frame &frame, const Instr &instr) {
  const int64_t index = *frame.at<T>(instr.a), extent = instr.extra;
  if (index < -extent || index >= extent)
    return report(frame, instr, ErrorKind::Launch,
                  "index " + std::to_string(index) + " is out of bounds for an axis of size " +
                      std::to_string(extent));
  *frame.at<int32_t>(instr.dst) = static_cast<int32_t>(index < 0 ? index + extent : index);
}

size_t elementOf(Frame &frame, const Instr &instr) {
  const uint32_t pack = instr.extra >> 16, item = instr.extra & 0xffff;
  return (size_t(*frame.at<uint32_t>(instr.b)) * pack + item) * instr.count;
}

} // namespace

Handler gather(unsigned bytes) {
  switch (bytes) {
  case 1:
    return runGather<uint8_t>;
  case 2:
    return runGather<uint16_t>;
  case 4:
    return runGather<uint32_t>;
  default:
    return runGather<uint64_t>;
  }
}

Handler extract(unsigned bytes) {
  switch (bytes) {
  case 1:
    return runExtract<uint8_t>;
  case 2:
    return runExtract<uint16_t>;
  case 4:
    return runExtract<uint32_t>;
  default:
    return runExtract<uint64_t>;
  }
}

Handler wrapIndex(bool isWide) { return isWide ? runWrapIndex<int64_t> : runWrapIndex<int32_t>; }

void runHistogram(Frame &frame, const Instr &instr) {
  const uint32_t bins = instr.extra >> 1;
  uint32_t *dst = frame.at<uint32_t>(instr.dst);
  const uint32_t *src = frame.at<uint32_t>(instr.a);
  const uint8_t *mask = instr.extra & 1 ? frame.at<uint8_t>(instr.b) : nullptr;
  std::fill_n(dst, bins, 0);
  for (uint32_t i = 0; i < instr.count; ++i)
    if ((!mask || mask[i]) && src[i] < bins)
      ++dst[src[i]];
}

void runTakeElement(Frame &frame, const Instr &instr) {
  std::memcpy(frame.at<std::byte>(instr.dst),
              frame.at<std::byte>(instr.a) + elementOf(frame, instr), instr.count);
}

void runPutElement(Frame &frame, const Instr &instr) {
  std::memcpy(frame.at<std::byte>(instr.dst) + elementOf(frame, instr),
              frame.at<std::byte>(instr.a), instr.count);
}

void runClock(Frame &frame, const Instr &instr) {
  *frame.at<int64_t>(instr.dst) = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      std::chrono::steady_clock::now().time_since_epoch())
                                      .count();
}

void runAssume(Frame &frame, const Instr &instr) {
  if (!*frame.at<uint8_t>(instr.a))
    report(frame, instr, ErrorKind::Assertion, "this assumption does not hold");
}

} // namespace pantile::interp
