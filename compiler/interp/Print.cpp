//===- Print.cpp - device_print and device_assert -----------------------------------------===//
// Needs: Control.h.
// Gives: runPrint: one line per element, `pid (x, y, z) idx (i, j) prefix: value`; runAssert.
// How:   The lines of one operation are printed at once, so that programs do not mix within it.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/kernels/Narrow.h"
#include <cstdio>
#include <fmt/format.h>
#include <iterator>

namespace pantile::interp {
namespace {

double floatOf(Elem elem, const std::byte *data) {
  switch (elem) {
  case Elem::F8E4M3:
    return toFloat(*reinterpret_cast<const E4M3 *>(data));
  case Elem::F8E5M2:
    return toFloat(*reinterpret_cast<const E5M2 *>(data));
  case Elem::F16:
    return toFloat(*reinterpret_cast<const Half *>(data));
  case Elem::BF16:
    return toFloat(*reinterpret_cast<const BFloat *>(data));
  case Elem::F32:
    return *reinterpret_cast<const float *>(data);
  default:
    return *reinterpret_cast<const double *>(data);
  }
}

uint64_t bitsOf(Elem elem, const std::byte *data) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < sizeOf(elem); ++i)
    bits |= static_cast<uint64_t>(data[i]) << (8 * i);
  return bits;
}

std::string valueText(const PrintOperand &operand, bool hex, const std::byte *data) {
  unsigned bytes = sizeOf(operand.elem);
  uint64_t bits = bitsOf(operand.elem, data);
  if (hex || operand.elem == Elem::Ptr)
    return fmt::format("0x{:0{}x}", bits, 2 * bytes);
  if (isFloat(operand.elem))
    return fmt::format("{:f}", floatOf(operand.elem, data));
  unsigned spare = 64 - 8 * bytes;
  if (operand.isSigned && operand.elem != Elem::I1)
    return fmt::format("{}", static_cast<int64_t>(bits << spare) >> spare);
  return fmt::format("{}", bits);
}

/// The coordinates of element `index`, as `i, j`.
std::string indexText(const std::vector<uint32_t> &shape, uint32_t index) {
  std::string text;
  for (size_t dim = shape.size(); dim-- > 0; index /= shape[dim])
    text = fmt::format("{}{}{}", index % shape[dim], text.empty() ? "" : ", ", text);
  return text;
}

} // namespace

void runPrint(Frame &frame, const Instr &instr) {
  const Print &print = frame.code->prints[instr.extra];
  std::string head = fmt::format("pid ({}, {}, {})", frame.pid[0], frame.pid[1], frame.pid[2]),
              text;
  if (print.operands.empty())
    text = fmt::format("{} {}\n", head, print.prefix);
  for (size_t i = 0; i < print.operands.size(); ++i) {
    const PrintOperand &operand = print.operands[i];
    std::string which = print.operands.size() > 1 ? fmt::format("(operand {}) ", i) : "";
    const std::byte *data = frame.at<std::byte>(operand.reg);
    uint32_t count = 1;
    for (uint32_t size : operand.shape)
      count *= size;
    for (uint32_t at = 0; at < count; ++at)
      fmt::format_to(std::back_inserter(text), "{} idx ({}) {}: {}{}\n", head,
                     indexText(operand.shape, at), print.prefix, which,
                     valueText(operand, print.hex, data + at * sizeOf(operand.elem)));
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void runAssert(Frame &frame, const Instr &instr) {
  const uint8_t *conditions = frame.at<uint8_t>(instr.a);
  for (uint32_t i = 0; i < instr.count; ++i)
    if (!conditions[i])
      return report(frame, instr, ErrorKind::Assertion, frame.code->messages[instr.extra]);
}

} // namespace pantile::interp
