//===- Narrow.h - floats of 16 and 8 bits to and from fp32 -----------------------------------===//
// Needs: nothing.
// Gives: element tags (Half, BFloat, E4M3, E5M2) and widen/narrow over runs of elements.
// How:   Rounding to nearest even. Half and BFloat overflow to infinity; the 8-bit formats saturate
//        to the largest finite value, infinities too, like the GPU's conversions. Everything has
//        internal linkage: each instruction set has its own copy.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace pantile::interp {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct E4M3 {
  uint8_t bits;
};
struct E5M2 {
  uint8_t bits;
};

template <typename T> constexpr bool isNarrow = false;
template <> constexpr bool isNarrow<Half> = true;
template <> constexpr bool isNarrow<BFloat> = true;
template <> constexpr bool isNarrow<E4M3> = true;
template <> constexpr bool isNarrow<E5M2> = true;

/// Magnitude of a float in a format of `Exp` exponent and `Man` fraction bits, at most `top`; codes
/// above the largest finite one appear where rounding overflows.
template <int Exp, int Man> [[gnu::always_inline]] inline uint32_t roundMagnitude(uint32_t abs) {
  constexpr int bias = (1 << (Exp - 1)) - 1;
  constexpr int drop = 23 - Man;
  constexpr uint32_t smallestNormal = static_cast<uint32_t>(127 - bias + 1) << 23;
  // Adding this power of two pushes the fraction bits that a subnormal lacks out of the sum.
  constexpr uint32_t magic = static_cast<uint32_t>(127 - bias + 1 + drop) << 23;
  uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(abs) + std::bit_cast<float>(magic)) - magic;
  uint32_t rounded = abs + ((1u << (drop - 1)) - 1) + ((abs >> drop) & 1);
  uint32_t normal = (rounded >> drop) - (static_cast<uint32_t>(127 - bias) << Man);
  return abs < smallestNormal ? subnormal : normal;
}

/// fp32 value of a code of `Exp` exponent and `Man` fraction bits that is neither infinite nor NaN.
template <int Exp, int Man> [[gnu::always_inline]] inline float expandMagnitude(uint32_t code) {
  constexpr int bias = (1 << (Exp - 1)) - 1;
  uint32_t exponent = code >> Man;
  uint32_t normal = (code << (23 - Man)) + (static_cast<uint32_t>(127 - bias) << 23);
  constexpr float ulp = std::bit_cast<float>(static_cast<uint32_t>(127 - bias + 1 - Man) << 23);
  return exponent ? std::bit_cast<float>(normal) : static_cast<float>(static_cast<int>(code)) * ulp;
}

[[gnu::always_inline]] inline float toFloat(Half value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16, code = value.bits & 0x7fff;
  uint32_t abs = code >= 0x7c00 ? 0x7f800000u | (code & 0x3ff) << 13
                                : std::bit_cast<uint32_t>(expandMagnitude<5, 10>(code));
  return std::bit_cast<float>(sign | abs);
}
[[gnu::always_inline]] inline Half toHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), abs = bits & 0x7fffffff;
  uint32_t code = roundMagnitude<5, 10>(abs);
  code = abs >= 0x47800000 ? 0x7c00 : code;
  code = abs > 0x7f800000 ? 0x7fff : code;
  return {static_cast<uint16_t>((bits >> 16 & 0x8000) | code)};
}
[[gnu::always_inline]] inline float toFloat(BFloat value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
[[gnu::always_inline]] inline BFloat toBFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded)};
}
[[gnu::always_inline]] inline float toFloat(E4M3 value) {
  uint32_t sign = static_cast<uint32_t>(value.bits & 0x80) << 24, code = value.bits & 0x7f;
  uint32_t abs = code == 0x7f ? 0x7fc00000u : std::bit_cast<uint32_t>(expandMagnitude<4, 3>(code));
  return std::bit_cast<float>(sign | abs);
}
[[gnu::always_inline]] inline E4M3 toE4M3(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), abs = bits & 0x7fffffff;
  uint32_t code = roundMagnitude<4, 3>(abs);
  code = abs >= 0x43e00000 ? 0x7e : code;
  code |= bits >> 24 & 0x80;
  return {static_cast<uint8_t>(abs > 0x7f800000 ? 0x7f : code)};
}
[[gnu::always_inline]] inline float toFloat(E5M2 value) {
  return toFloat(Half{static_cast<uint16_t>(value.bits << 8)});
}
[[gnu::always_inline]] inline E5M2 toE5M2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), abs = bits & 0x7fffffff;
  uint32_t code = roundMagnitude<5, 2>(abs);
  code = abs >= 0x47600000 ? 0x7b : code;
  code |= bits >> 24 & 0x80;
  return {static_cast<uint8_t>(abs > 0x7f800000 ? 0x7f : code)};
}

template <typename T> [[gnu::always_inline]] inline T fromFloat(float value) {
  if constexpr (std::is_same_v<T, Half>)
    return toHalf(value);
  else if constexpr (std::is_same_v<T, BFloat>)
    return toBFloat(value);
  else if constexpr (std::is_same_v<T, E4M3>)
    return toE4M3(value);
  else
    return toE5M2(value);
}

/// The fp32 value that rounds to any narrow format as `value` itself does: truncated, with the last
/// bit set if bits were lost.
[[gnu::always_inline]] inline float roundToOdd(double value) {
  float rounded = static_cast<float>(value);
  double back = static_cast<double>(rounded);
  uint32_t bits = std::bit_cast<uint32_t>(rounded);
  if (back == value || value != value || bits & 1)
    return rounded;
  bool above = (back < 0 ? -back : back) > (value < 0 ? -value : value);
  return std::bit_cast<float>(above ? bits - 1 : bits | 1);
}

template <typename T> [[gnu::noinline]] void widen(const T *src, float *dst, size_t count) {
  size_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, Half>)
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(
          dst + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(src + i))));
#endif
  for (; i < count; ++i)
    dst[i] = toFloat(src[i]);
}

template <typename T> [[gnu::noinline]] void narrow(const float *src, T *dst, size_t count) {
  size_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, Half>)
    for (; i + 8 <= count; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i)
    dst[i] = fromFloat<T>(src[i]);
}

} // namespace
} // namespace pantile::interp
