//===- FloatUnary.cpp - float functions of one operand ------------------------------------===//
// Needs: Floats.h; compiled once for each instruction set.
// Gives: handlers of the float part of UnaryOp, and of TestOp.
// How:   the C library's functions in fp32, or fp64 for fp64.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Floats.h"
#include "interp/kernels/Set.h"
#include <cmath>

namespace pantile::interp::PANTILE_ISA {
namespace {

template <UnaryOp op> struct Apply {
  template <typename W> [[gnu::always_inline]] W operator()(W x) const {
    using enum UnaryOp;
    if constexpr (op == NegF)
      return -x;
    else if constexpr (op == AbsF)
      return std::fabs(x);
    else if constexpr (op == Acos)
      return std::acos(x);
    else if constexpr (op == Acosh)
      return std::acosh(x);
    else if constexpr (op == Asin)
      return std::asin(x);
    else if constexpr (op == Asinh)
      return std::asinh(x);
    else if constexpr (op == Atan)
      return std::atan(x);
    else if constexpr (op == Atanh)
      return std::atanh(x);
    else if constexpr (op == Cbrt)
      return std::cbrt(x);
    else if constexpr (op == Ceil)
      return std::ceil(x);
    else if constexpr (op == Cos)
      return std::cos(x);
    else if constexpr (op == Cosh)
      return std::cosh(x);
    else if constexpr (op == Erf)
      return std::erf(x);
    else if constexpr (op == Erfc)
      return std::erfc(x);
    else if constexpr (op == Exp)
      return std::exp(x);
    else if constexpr (op == Exp2)
      return std::exp2(x);
    else if constexpr (op == ExpM1)
      return std::expm1(x);
    else if constexpr (op == Floor)
      return std::floor(x);
    else if constexpr (op == Log)
      return std::log(x);
    else if constexpr (op == Log10)
      return std::log10(x);
    else if constexpr (op == Log1p)
      return std::log1p(x);
    else if constexpr (op == Log2)
      return std::log2(x);
    else if constexpr (op == Round)
      return std::round(x);
    else if constexpr (op == RoundEven)
      return std::nearbyint(x);
    else if constexpr (op == Rsqrt)
      return W(1) / std::sqrt(x);
    else if constexpr (op == Sin)
      return std::sin(x);
    else if constexpr (op == Sinh)
      return std::sinh(x);
    else if constexpr (op == Sqrt)
      return std::sqrt(x);
    else if constexpr (op == Tan)
      return std::tan(x);
    else if constexpr (op == Tanh)
      return std::tanh(x);
    else
      return std::trunc(x);
  }
};

template <typename T, UnaryOp op> void run(Frame &frame, const Instr &instr) {
  mapFloats(instr.count, Apply<op>(), frame.at<T>(instr.dst), frame.at<const T>(instr.a));
}

template <typename T> Handler unaryOf(UnaryOp op) {
  using enum UnaryOp;
  constexpr Handler table[] = {
      run<T, NegF>,  run<T, AbsF>,  run<T, Acos>,  run<T, Acosh>, run<T, Asin>,  run<T, Asinh>,
      run<T, Atan>,  run<T, Atanh>, run<T, Cbrt>,  run<T, Ceil>,  run<T, Cos>,   run<T, Cosh>,
      run<T, Erf>,   run<T, Erfc>,  run<T, Exp>,   run<T, Exp2>,  run<T, ExpM1>, run<T, Floor>,
      run<T, Log>,   run<T, Log10>, run<T, Log1p>, run<T, Log2>,  run<T, Round>, run<T, RoundEven>,
      run<T, Rsqrt>, run<T, Sin>,   run<T, Sinh>,  run<T, Sqrt>,  run<T, Tan>,   run<T, Tanh>,
      run<T, Trunc>};
  return table[static_cast<unsigned>(op) - static_cast<unsigned>(NegF)];
}

/// Smallest normal number of each type, as fp64.
template <typename T> constexpr double smallestNormal = 0x1p-126;
template <> constexpr double smallestNormal<Half> = 0x1p-14;
template <> constexpr double smallestNormal<E5M2> = 0x1p-14;
template <> constexpr double smallestNormal<E4M3> = 0x1p-6;
template <> constexpr double smallestNormal<double> = 0x1p-1022;

template <typename T, TestOp op> void runTest(Frame &frame, const Instr &instr) {
  uint8_t *dst = frame.at<uint8_t>(instr.dst);
  const T *src = frame.at<T>(instr.a);
  for (uint32_t i = 0; i < instr.count; ++i) {
    double x;
    if constexpr (isNarrow<T>)
      x = toFloat(src[i]);
    else
      x = src[i];
    if constexpr (op == TestOp::IsNan)
      dst[i] = x != x;
    else if constexpr (op == TestOp::IsInf)
      dst[i] = std::isinf(x);
    else if constexpr (op == TestOp::IsFinite)
      dst[i] = std::isfinite(x);
    else
      dst[i] = std::isfinite(x) && std::fabs(x) >= smallestNormal<T>;
  }
}

template <typename T> Handler testOf(TestOp op) {
  using enum TestOp;
  constexpr Handler table[] = {runTest<T, IsNan>, runTest<T, IsInf>, runTest<T, IsFinite>,
                               runTest<T, IsNormal>};
  return table[static_cast<unsigned>(op)];
}

} // namespace

Handler floatUnary(UnaryOp op, Elem elem) {
  return forFloat(elem, [&](auto type) { return unaryOf<decltype(type)>(op); });
}
Handler floatTest(TestOp op, Elem elem) {
  return forFloat(elem, [&](auto type) { return testOf<decltype(type)>(op); });
}

} // namespace pantile::interp::PANTILE_ISA
