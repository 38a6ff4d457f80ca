//===- Dot.cpp - dots of two tiles --------------------------------------------------------===//
// Needs: Kernels.h, Code.h, Narrow.h; compiled once per instruction set.
// Gives: handlers by element type of the operands and of the accumulator.
// How:   Both operands are converted once into scratch: lhs to rows of the compute type (fp32, fp64
//        or i32), rhs to panels of a few vectors' width, so that the inner loop reads consecutive
//        memory. It keeps a part of the accumulator in registers for all of K. Each element is
//        summed in the order of K.
//===------------------------------------------------------------------------------------===//
#include "interp/Code.h"
#include "interp/kernels/Floats.h"
#include "interp/kernels/Set.h"
#include <cstring>

namespace pantile::interp::PANTILE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr size_t vectorBytes = 64, blockRows = 8;
#elif defined(__AVX2__)
constexpr size_t vectorBytes = 32, blockRows = 4;
#else
constexpr size_t vectorBytes = 16, blockRows = 4;
#endif

template <typename W> constexpr size_t lanes = vectorBytes / sizeof(W);
template <typename W> constexpr size_t panelWidth = 2 * lanes<W>;
template <typename W> struct VectorOf {
  typedef W Type __attribute__((vector_size(vectorBytes), aligned(sizeof(W))));
};
template <typename W> using Vector = typename VectorOf<W>::Type;

constexpr size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/// Rows r of acc += Rows rows of lhs times one panel. `lhs` has rows of k, `acc` rows of
/// panelWidth.
template <typename W, size_t Rows>
[[gnu::always_inline]] inline void multiplyBlock(const W *lhs, const W *panel, W *acc,
                                                 size_t accStride, size_t k) {
  using V = Vector<W>;
  V sum[Rows][2];
  for (size_t r = 0; r < Rows; ++r) {
    sum[r][0] = *reinterpret_cast<const V *>(acc + r * accStride);
    sum[r][1] = *reinterpret_cast<const V *>(acc + r * accStride + lanes<W>);
  }
  for (size_t i = 0; i < k; ++i) {
    const V b0 = *reinterpret_cast<const V *>(panel + i * panelWidth<W>);
    const V b1 = *reinterpret_cast<const V *>(panel + i * panelWidth<W> + lanes<W>);
    for (size_t r = 0; r < Rows; ++r) {
      W a = lhs[r * k + i];
      sum[r][0] += a * b0;
      sum[r][1] += a * b1;
    }
  }
  for (size_t r = 0; r < Rows; ++r) {
    *reinterpret_cast<V *>(acc + r * accStride) = sum[r][0];
    *reinterpret_cast<V *>(acc + r * accStride + lanes<W>) = sum[r][1];
  }
}

/// acc (m rows of `stride`, a multiple of the panel width) += lhs x panels.
template <typename W>
void multiply(const W *lhs, const W *panels, W *acc, size_t stride, size_t m, size_t k) {
  for (size_t col = 0; col < stride; col += panelWidth<W>) {
    const W *panel = panels + col * k;
    size_t row = 0;
    for (; row + blockRows <= m; row += blockRows)
      multiplyBlock<W, blockRows>(lhs + row * k, panel, acc + row * stride + col, stride, k);
    for (; row < m; ++row)
      multiplyBlock<W, 1>(lhs + row * k, panel, acc + row * stride + col, stride, k);
  }
}

template <typename T, typename W> void toWork(const T *src, W *dst, size_t count) {
  if constexpr (isNarrow<T>)
    widen(src, dst, count);
  else
    for (size_t i = 0; i < count; ++i)
      dst[i] = static_cast<W>(src[i]);
}

/// fp32 with 10 bits of fraction, ties away from zero. Infinities and NaN stay.
void roundToTf32(float *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(values[i]);
    uint32_t rounded = (bits + 0x1000) & 0xffffe000;
    values[i] = std::bit_cast<float>((bits & 0x7f800000) == 0x7f800000 ? bits : rounded);
  }
}

template <typename T, typename W> void convertRow(const T *src, W *dst, size_t count, bool tf32) {
  toWork(src, dst, count);
  if constexpr (std::is_same_v<T, float>)
    if (tf32)
      roundToTf32(dst, count);
}

/// Copies rhs (k rows of n) into panels; the last one is padded with 0.
template <typename T, typename W>
void pack(const T *rhs, W *panels, W *row, const DotShape &shape) {
  size_t stride = roundUp(shape.n, panelWidth<W>);
  std::memset(row, 0, stride * sizeof(W));
  for (size_t i = 0; i < shape.k; ++i) {
    convertRow(rhs + i * shape.n, row, shape.n, shape.tf32);
    for (size_t col = 0; col < stride; col += panelWidth<W>)
      std::memcpy(panels + col * shape.k + i * panelWidth<W>, row + col, panelWidth<W> * sizeof(W));
  }
}

/// Elements of scratch: lhs, panels, accumulator, one row.
template <typename W> size_t scratchElements(const DotShape &shape) {
  size_t stride = roundUp(shape.n, panelWidth<W>);
  return size_t(shape.m) * shape.k + stride * shape.k + shape.m * stride + stride;
}

template <typename T, typename W, typename Acc>
void multiplyTile(const T *lhs, const T *rhs, const Acc *acc, Acc *dst, W *scratch,
                  const DotShape &shape) {
  size_t stride = roundUp(shape.n, panelWidth<W>);
  W *left = scratch, *sum = left + size_t(shape.m) * shape.k, *panels = sum + shape.m * stride;
  W *row = panels + stride * shape.k;
  convertRow(lhs, left, size_t(shape.m) * shape.k, shape.tf32);
  pack(rhs, panels, row, shape);
  // A result of the compute type and of whole panels is accumulated in place.
  if constexpr (std::is_same_v<Acc, W>)
    if (stride == shape.n) {
      if (dst != acc)
        std::memcpy(dst, acc, shape.m * stride * sizeof(W));
      return multiply(left, panels, dst, stride, shape.m, shape.k);
    }
  for (size_t i = 0; i < shape.m; ++i)
    toWork(acc + i * shape.n, sum + i * stride, shape.n);
  multiply(left, panels, sum, stride, shape.m, shape.k);
  for (size_t i = 0; i < shape.m; ++i) {
    if constexpr (isNarrow<Acc>)
      narrow(sum + i * stride, dst + i * shape.n, shape.n);
    else
      for (size_t j = 0; j < shape.n; ++j)
        dst[i * shape.n + j] = static_cast<Acc>(sum[i * stride + j]);
  }
}

template <typename T, typename W, typename Acc> void run(Frame &frame, const Instr &instr) {
  const DotShape &shape = frame.code->dots[instr.extra];
  W *scratch = frame.at<W>(shape.scratch);
  for (size_t batch = 0; batch < shape.batch; ++batch) {
    size_t lhs = batch * shape.m * shape.k, rhs = batch * shape.k * shape.n,
           acc = batch * shape.m * shape.n;
    multiplyTile<T, W, Acc>(frame.at<T>(instr.a) + lhs, frame.at<T>(instr.b) + rhs,
                            frame.at<Acc>(instr.c) + acc, frame.at<Acc>(instr.dst) + acc, scratch,
                            shape);
  }
}

template <typename T> Handler floatDot(Elem accumulator) {
  switch (accumulator) {
  case Elem::F32:
    return run<T, float, float>;
  case Elem::F16:
    return run<T, float, Half>;
  case Elem::BF16:
    return run<T, float, BFloat>;
  default:
    return nullptr;
  }
}

} // namespace

Handler dot(Elem operands, Elem accumulator) {
  switch (operands) {
  case Elem::F16:
    return floatDot<Half>(accumulator);
  case Elem::BF16:
    return floatDot<BFloat>(accumulator);
  case Elem::F8E4M3:
    return floatDot<E4M3>(accumulator);
  case Elem::F8E5M2:
    return floatDot<E5M2>(accumulator);
  case Elem::F32:
    return floatDot<float>(accumulator);
  case Elem::F64:
    return accumulator == Elem::F64 ? run<double, double, double> : nullptr;
  case Elem::I8:
    // Sums of products wrap around: the compute type is unsigned, the operands are signed.
    return accumulator == Elem::I32 ? run<int8_t, uint32_t, uint32_t> : nullptr;
  default:
    return nullptr;
  }
}

size_t dotScratchBytes(const DotShape &shape, Elem operands) {
  return operands == Elem::F64 ? scratchElements<double>(shape) * sizeof(double)
                               : scratchElements<float>(shape) * sizeof(float);
}

} // namespace pantile::interp::PANTILE_ISA
