//===- Convert.cpp - conversions between element types ------------------------------------===//
// Needs: Narrow.h; compiled once for each instruction set.
// Gives: handlers of ConvertOp.
// How:   One rounding, to nearest even or toward zero: fp64 is converted to the narrow formats
//        through an fp32 that is rounded to odd.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Floats.h"
#include "interp/kernels/Set.h"
#include <limits>
#include <type_traits>

namespace pantile::interp::PANTILE_ISA {
namespace {

/// i1: read and written as 0 or 1; as a signed number, true is -1.
struct Truth {
  uint8_t bits;
};

template <typename T, bool isSigned>
using Counterpart = std::conditional_t<isSigned, std::make_signed_t<T>, T>;

/// An integer element as a C++ integer of the wanted signedness.
template <bool isSigned, typename T> [[gnu::always_inline]] inline auto getInt(T value) {
  if constexpr (std::is_same_v<T, Truth>)
    return static_cast<int8_t>(isSigned ? -value.bits : value.bits);
  else
    return static_cast<Counterpart<T, isSigned>>(value);
}
template <typename T, typename V> [[gnu::always_inline]] inline T putInt(V value) {
  if constexpr (std::is_same_v<T, Truth>)
    return {static_cast<uint8_t>(value & 1)};
  else
    return static_cast<T>(value);
}

/// Truncates toward zero; saturates to the nearest representable number; NaN gives 0.
template <typename V, typename W> [[gnu::always_inline]] inline V saturate(W value) {
  using Limits = std::numeric_limits<V>;
  // The bound above the largest number is a power of two, which every float type holds exactly.
  constexpr W above = static_cast<W>(Limits::max() / 2 + 1) * 2;
  if (!(value > static_cast<W>(Limits::min()) - (std::is_signed_v<V> ? 0 : 1)))
    return value == value ? Limits::min() : 0;
  return value < above ? static_cast<V>(value) : Limits::max();
}

template <typename T, typename W> [[gnu::always_inline]] inline T putFloat(W value) {
  if constexpr (!isNarrow<T>)
    return static_cast<T>(value);
  else if constexpr (std::is_same_v<W, double>)
    return fromFloat<T>(roundToOdd(value));
  else
    return fromFloat<T>(value);
}
template <typename T> [[gnu::always_inline]] inline auto getFloat(T value) {
  if constexpr (isNarrow<T>)
    return toFloat(value);
  else
    return value;
}

template <typename From, typename To, bool isSigned>
void intToInt(Frame &frame, const Instr &instr) {
  To *dst = frame.at<To>(instr.dst);
  const From *src = frame.at<From>(instr.a);
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = putInt<To>(getInt<isSigned>(src[i]));
}

template <typename From, typename To, bool isSigned>
void intToFloat(Frame &frame, const Instr &instr) {
  To *dst = frame.at<To>(instr.dst);
  const From *src = frame.at<From>(instr.a);
  // Integers of more than 24 bits are rounded to a narrow type from fp64, which holds 53 of them.
  using W = std::conditional_t<std::is_same_v<To, double> || (isNarrow<To> && sizeof(From) >= 4),
                               double, float>;
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = putFloat<To>(static_cast<W>(getInt<isSigned>(src[i])));
}

template <typename From, typename To, bool isSigned>
void floatToInt(Frame &frame, const Instr &instr) {
  To *dst = frame.at<To>(instr.dst);
  const From *src = frame.at<From>(instr.a);
  using Wide = std::conditional_t<sizeof(To) == 8, uint64_t, uint32_t>;
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = putInt<To>(saturate<Counterpart<Wide, isSigned>>(getFloat(src[i])));
}

template <typename From, typename To> void floatToFloat(Frame &frame, const Instr &instr) {
  To *dst = frame.at<To>(instr.dst);
  const From *src = frame.at<From>(instr.a);
  if constexpr (std::is_same_v<To, float> && isNarrow<From>) {
    widen(src, dst, instr.count);
  } else if constexpr (std::is_same_v<From, float> && isNarrow<To>) {
    narrow(src, dst, instr.count);
  } else {
#pragma GCC ivdep
    for (uint32_t i = 0; i < instr.count; ++i)
      dst[i] = putFloat<To>(getFloat(src[i]));
  }
}

/// Rounded to nearest and, if that increased the magnitude, the previous code.
template <typename From, typename To> void floatTowardZero(Frame &frame, const Instr &instr) {
  using Bits = std::conditional_t<sizeof(To) == 1, uint8_t,
                                  std::conditional_t<sizeof(To) == 2, uint16_t, uint32_t>>;
  To *dst = frame.at<To>(instr.dst);
  const From *src = frame.at<From>(instr.a);
  for (uint32_t i = 0; i < instr.count; ++i) {
    auto value = getFloat(src[i]);
    To rounded = putFloat<To>(value);
    auto back = static_cast<decltype(value)>(getFloat(rounded));
    bool isBeyond = (back < 0 ? -back : back) > (value < 0 ? -value : value);
    dst[i] = std::bit_cast<To>(static_cast<Bits>(std::bit_cast<Bits>(rounded) - isBeyond));
  }
}

template <typename Make> Handler forInt(Elem elem, Make make) {
  switch (elem) {
  case Elem::I1:
    return make(Truth());
  case Elem::I8:
    return make(uint8_t());
  case Elem::I16:
    return make(uint16_t());
  case Elem::I32:
    return make(uint32_t());
  case Elem::I64:
  case Elem::Ptr:
    return make(uint64_t());
  default:
    return nullptr;
  }
}

template <bool isSigned> Handler intToIntOf(Elem from, Elem to) {
  return forInt(from, [&](auto f) {
    return forInt(to,
                  [](auto t) -> Handler { return intToInt<decltype(f), decltype(t), isSigned>; });
  });
}
template <bool isSigned> Handler intToFloatOf(Elem from, Elem to) {
  return forInt(from, [&](auto f) {
    return forFloat(
        to, [](auto t) -> Handler { return intToFloat<decltype(f), decltype(t), isSigned>; });
  });
}
template <bool isSigned> Handler floatToIntOf(Elem from, Elem to) {
  return forFloat(from, [&](auto f) {
    return forInt(to,
                  [](auto t) -> Handler { return floatToInt<decltype(f), decltype(t), isSigned>; });
  });
}

} // namespace

Handler convert(ConvertOp op, Elem from, Elem to) {
  switch (op) {
  case ConvertOp::SignedInt:
    return intToIntOf<true>(from, to);
  case ConvertOp::UnsignedInt:
    return intToIntOf<false>(from, to);
  case ConvertOp::SignedToFloat:
    return intToFloatOf<true>(from, to);
  case ConvertOp::UnsignedToFloat:
    return intToFloatOf<false>(from, to);
  case ConvertOp::FloatToSigned:
    return floatToIntOf<true>(from, to);
  case ConvertOp::FloatToUnsigned:
    return floatToIntOf<false>(from, to);
  case ConvertOp::Float:
    return forFloat(from, [&](auto f) {
      return forFloat(to, [](auto t) -> Handler { return floatToFloat<decltype(f), decltype(t)>; });
    });
  case ConvertOp::FloatTowardZero:
    return forFloat(from, [&](auto f) {
      return forFloat(to, [](auto t) -> Handler {
        if constexpr (sizeof(t) < sizeof(f))
          return floatTowardZero<decltype(f), decltype(t)>;
        else
          return nullptr;
      });
    });
  }
  return nullptr;
}

} // namespace pantile::interp::PANTILE_ISA
