//===- Buffers.cpp - copies between tiles and the slots of buffers ----------------------------===//
// Needs: see Buffers.h.
// Gives: the handlers of shared buffers.
//===------------------------------------------------------------------------------------------===//
#include "interp/Buffers.h"
#include <cstring>
#include <fmt/format.h>

namespace pantile::interp {
namespace {

constexpr int poison = 0xFF;

/// Where slot number `reg` begins in a buffer; -1 after an error.
int64_t slotOffset(Frame &frame, const Instr &instr, uint32_t reg) {
  const int32_t slot = *frame.at<int32_t>(reg);
  if (slot >= 0 && static_cast<uint32_t>(slot) < instr.extra)
    return int64_t(slot) * instr.count;
  report(frame, instr, ErrorKind::Launch,
         fmt::format("slot {} of a buffer of {}", slot, instr.extra));
  return -1;
}

} // namespace

void runLoadSlot(Frame &frame, const Instr &instr) {
  if (const int64_t offset = slotOffset(frame, instr, instr.b); offset >= 0)
    std::memcpy(frame.at<std::byte>(instr.dst), frame.at<std::byte>(instr.a) + offset, instr.count);
}

void runStoreSlot(Frame &frame, const Instr &instr) {
  if (const int64_t offset = slotOffset(frame, instr, instr.b); offset >= 0)
    std::memcpy(frame.at<std::byte>(instr.dst) + offset, frame.at<std::byte>(instr.a), instr.count);
}

void runSlotAddress(Frame &frame, const Instr &instr) {
  if (const int64_t offset = slotOffset(frame, instr, instr.b); offset >= 0)
    *frame.at<std::byte *>(instr.dst) = frame.at<std::byte>(instr.a) + offset;
}

void runFillBytes(Frame &frame, const Instr &instr) {
  std::memset(frame.at<std::byte>(instr.dst), poison, instr.count);
}

} // namespace pantile::interp
