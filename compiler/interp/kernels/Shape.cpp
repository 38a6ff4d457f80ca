//===- Shape.cpp - copies, selections and addresses over tiles ----------------------------===//
// Needs: Kernels.h, Code.h; compiled once for each instruction set.
// Gives: handlers that copy elements by their size, whatever their type, and address arithmetic.
//===------------------------------------------------------------------------------------===//
#include "interp/Code.h"
#include "interp/kernels/Set.h"
#include <cstring>

namespace pantile::interp::PANTILE_ISA {
namespace {

template <typename T> void runFill(Frame &frame, const Instr &instr) {
  T *dst = frame.at<T>(instr.dst), value = *frame.at<T>(instr.a);
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = value;
}

template <typename T> void runSelect(Frame &frame, const Instr &instr) {
  T *dst = frame.at<T>(instr.dst);
  const uint8_t *condition = frame.at<uint8_t>(instr.a);
  const T *yes = frame.at<T>(instr.b), *no = frame.at<T>(instr.c);
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = condition[i] ? yes[i] : no[i];
}

template <typename T> void runPermute(Frame &frame, const Instr &instr) {
  T *__restrict dst = frame.at<T>(instr.dst);
  const T *__restrict src = frame.at<T>(instr.a);
  const uint32_t *table = frame.code->tables[instr.extra].data();
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = src[table[i]];
}

template <typename T>
void copyRow(T *__restrict dst, const T *__restrict src, uint32_t size, uint32_t dstStride,
             uint32_t srcStride) {
  if (dstStride == 1 && srcStride == 1)
    std::memcpy(dst, src, size * sizeof(T));
  else if (dstStride == 1 && srcStride == 0)
    for (uint32_t i = 0; i < size; ++i)
      dst[i] = *src;
  else
    for (uint32_t i = 0; i < size; ++i)
      dst[static_cast<size_t>(i) * dstStride] = src[static_cast<size_t>(i) * srcStride];
}

template <typename T> void copyBox(T *dst, const T *src, const StridedCopy &copy, size_t dim) {
  uint32_t size = copy.sizes[dim], dstStride = copy.dstStrides[dim],
           srcStride = copy.srcStrides[dim];
  if (dim + 1 == copy.sizes.size())
    return copyRow(dst, src, size, dstStride, srcStride);
  for (uint32_t i = 0; i < size; ++i)
    copyBox(dst + static_cast<size_t>(i) * dstStride, src + static_cast<size_t>(i) * srcStride,
            copy, dim + 1);
}

template <typename T> void runStrided(Frame &frame, const Instr &instr) {
  copyBox(frame.at<T>(instr.dst), frame.at<const T>(instr.a), frame.code->copies[instr.extra], 0);
}

template <typename Offset> void runAddPtr(Frame &frame, const Instr &instr) {
  uint64_t *dst = frame.at<uint64_t>(instr.dst);
  const uint64_t *base = frame.at<uint64_t>(instr.a);
  const Offset *offset = frame.at<Offset>(instr.b);
  uint64_t bytes = instr.extra;
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = base[i] + static_cast<uint64_t>(static_cast<int64_t>(offset[i])) * bytes;
}

/// The instance of a handler template for elements of 1, 2, 4 or 8 bytes.
#define PANTILE_BY_SIZE(run)                                                                       \
  bytes == 1   ? run<uint8_t>                                                                      \
  : bytes == 2 ? run<uint16_t>                                                                     \
  : bytes == 4 ? run<uint32_t>                                                                     \
               : run<uint64_t>

} // namespace

Handler fill(unsigned bytes) { return PANTILE_BY_SIZE(runFill); }
Handler select(unsigned bytes) { return PANTILE_BY_SIZE(runSelect); }
Handler permute(unsigned bytes) { return PANTILE_BY_SIZE(runPermute); }
Handler strided(unsigned bytes) { return PANTILE_BY_SIZE(runStrided); }

Handler addPtr(Elem offset) {
  switch (offset) {
  case Elem::I1:
    return runAddPtr<uint8_t>;
  case Elem::I8:
    return runAddPtr<int8_t>;
  case Elem::I16:
    return runAddPtr<int16_t>;
  case Elem::I32:
    return runAddPtr<int32_t>;
  case Elem::I64:
    return runAddPtr<int64_t>;
  default:
    return nullptr;
  }
}

} // namespace pantile::interp::PANTILE_ISA
