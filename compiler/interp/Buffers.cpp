//===- Buffers.cpp - copies between tiles and the stages of buffers -------------------===//
// Needs: see Buffers.h.
// Gives: the handlers of shared buffers.
//===------------------------------------------------------------------------------------------===//
#include "interp/Buffers.h"
#include <cstring>
#include <fmt/format.h>

namespace pantile::interp {
namespace {

constexpr int poison = 0xFF;

/// The offset of stage number `reg` in a buffer; -1 after an error.
int64_t stageOffset(Frame &frame, const Instr &instr, uint32_t reg) {
  const int32_t stage = *frame.at<int32_t>(reg);
  if (stage >= 0 && static_cast<uint32_t>(stage) < instr.extra)
    return int64_t(stage) * instr.count;
  report(frame, instr, ErrorKind::Launch,
         fmt::format("stage {} of a buffer of {}", stage, instr.extra));
  return -1;
}

} // namespace

void runLoadStage(Frame &frame, const Instr &instr) {
  if (const int64_t offset = stageOffset(frame, instr, instr.b); offset >= 0)
    std::memcpy(frame.at<std::byte>(instr.dst), frame.at<std::byte>(instr.a) + offset, instr.count);
}

void runStoreStage(Frame &frame, const Instr &instr) {
  if (const int64_t offset = stageOffset(frame, instr, instr.b); offset >= 0)
    std::memcpy(frame.at<std::byte>(instr.dst) + offset, frame.at<std::byte>(instr.a), instr.count);
}

void runStageAddress(Frame &frame, const Instr &instr) {
  if (const int64_t offset = stageOffset(frame, instr, instr.b); offset >= 0)
    *frame.at<std::byte *>(instr.dst) = frame.at<std::byte>(instr.a) + offset;
}

void runFillBytes(Frame &frame, const Instr &instr) {
  std::memset(frame.at<std::byte>(instr.dst), poison, instr.count);
}

} // namespace pantile::interp
