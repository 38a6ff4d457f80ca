//===- FloatBinary.cpp - float operations of two and three operands, and comparisons ----------===//
// Needs: Floats.h; compiled once for each instruction set.
// Gives: handlers of the float part of BinaryOp, of fma and of compareFloat.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Floats.h"
#include "interp/kernels/Set.h"
#include <cmath>
#include <iterator>

namespace pantile::interp::PANTILE_ISA {
namespace {

template <BinaryOp op> struct Apply {
  template <typename W> [[gnu::always_inline]] W operator()(W a, W b) const {
    using enum BinaryOp;
    if constexpr (op == AddF)
      return a + b;
    else if constexpr (op == SubF)
      return a - b;
    else if constexpr (op == MulF)
      return a * b;
    else if constexpr (op == DivF)
      return a / b;
    else if constexpr (op == RemF)
      return std::fmod(a, b);
    else if constexpr (op == MaximumF)
      return a > b || a != a ? a : b;
    else if constexpr (op == MinimumF)
      return a < b || a != a ? a : b;
    else if constexpr (op == MaxNumF)
      return a > b || b != b ? a : b;
    else if constexpr (op == MinNumF)
      return a < b || b != b ? a : b;
    else if constexpr (op == PowF)
      return std::pow(a, b);
    else if constexpr (op == Atan2)
      return std::atan2(a, b);
    else
      return std::copysign(a, b);
  }
};

template <typename T, BinaryOp op> void run(Frame &frame, const Instr &instr) {
  mapFloats(instr.count, Apply<op>(), frame.at<T>(instr.dst), frame.at<const T>(instr.a),
            frame.at<const T>(instr.b));
}

template <typename T> Handler binaryOf(BinaryOp op) {
  using enum BinaryOp;
  constexpr Handler table[] = {run<T, AddF>,     run<T, SubF>,    run<T, MulF>,
                               run<T, DivF>,     run<T, RemF>,    run<T, MaximumF>,
                               run<T, MinimumF>, run<T, MaxNumF>, run<T, MinNumF>,
                               run<T, PowF>,     run<T, Atan2>,   run<T, CopySign>};
  return table[static_cast<unsigned>(op) - static_cast<unsigned>(AddF)];
}

/// Narrow types are computed in fp64: the product is exact there and the sum is rounded once more
/// only.
template <typename T> void runFma(Frame &frame, const Instr &instr) {
  T *dst = frame.at<T>(instr.dst);
  const T *a = frame.at<T>(instr.a), *b = frame.at<T>(instr.b), *c = frame.at<T>(instr.c);
  for (uint32_t i = 0; i < instr.count; ++i) {
    if constexpr (isNarrow<T>) {
      double sum = static_cast<double>(toFloat(a[i])) * static_cast<double>(toFloat(b[i]));
      dst[i] = fromFloat<T>(roundToOdd(sum + static_cast<double>(toFloat(c[i]))));
    } else {
      dst[i] = std::fma(a[i], b[i], c[i]);
    }
  }
}

template <unsigned predicate, typename W> [[gnu::always_inline]] inline bool holds(W a, W b) {
  bool unordered = a != a || b != b;
  // In the order of arith::CmpFPredicate: false, o-eq gt ge lt le ne, ord, u-eq gt ge lt le ne,
  // uno, true.
  constexpr unsigned relation = predicate >= 8 ? predicate - 7 : predicate;
  if constexpr (predicate == 0 || predicate == 15)
    return predicate == 15;
  else if constexpr (predicate == 7 || predicate == 14)
    return unordered == (predicate == 14);
  bool ordered[] = {false, a == b, a > b, a >= b, a < b, a <= b, a < b || a > b};
  return predicate >= 8 ? unordered || ordered[relation] : ordered[relation];
}

template <typename T, unsigned predicate> void runCompare(Frame &frame, const Instr &instr) {
  uint8_t *dst = frame.at<uint8_t>(instr.dst);
  const T *a = frame.at<T>(instr.a), *b = frame.at<T>(instr.b);
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i) {
    if constexpr (isNarrow<T>)
      dst[i] = holds<predicate>(toFloat(a[i]), toFloat(b[i]));
    else
      dst[i] = holds<predicate>(a[i], b[i]);
  }
}

template <typename T> Handler compareOf(unsigned predicate) {
  constexpr Handler table[] = {
      runCompare<T, 0>,  runCompare<T, 1>,  runCompare<T, 2>,  runCompare<T, 3>,
      runCompare<T, 4>,  runCompare<T, 5>,  runCompare<T, 6>,  runCompare<T, 7>,
      runCompare<T, 8>,  runCompare<T, 9>,  runCompare<T, 10>, runCompare<T, 11>,
      runCompare<T, 12>, runCompare<T, 13>, runCompare<T, 14>, runCompare<T, 15>};
  return predicate < std::size(table) ? table[predicate] : nullptr;
}

} // namespace

Handler floatBinary(BinaryOp op, Elem elem) {
  return forFloat(elem, [&](auto type) { return binaryOf<decltype(type)>(op); });
}
Handler fma(Elem elem) {
  return forFloat(elem, [](auto type) -> Handler { return runFma<decltype(type)>; });
}
Handler compareFloat(unsigned predicate, Elem elem) {
  return forFloat(elem, [&](auto type) { return compareOf<decltype(type)>(predicate); });
}

} // namespace pantile::interp::PANTILE_ISA
