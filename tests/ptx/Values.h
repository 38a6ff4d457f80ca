//===- Values.h - values in registers, and handlers over lanes -----------------------===//
// Needs: Machine.h.
// Gives: as, word, Half, BFloat, small floats; unary, binary, ternary; forType.
// How:   A 64-bit register holds a narrower value in its low bits; the others are 0.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Machine.h"
#include <cmath>
#include <type_traits>

namespace pantile::ptx {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

inline float toFloat(Half value) {
  const uint32_t sign = (value.bits & 0x8000u) << 16, magnitude = (value.bits & 0x7fffu) << 13;
  const bool isFinite = magnitude < 0x1fu << 23;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f; // the biases are 127 and 15
  return std::bit_cast<float>(
      sign | (isFinite ? std::bit_cast<uint32_t>(scaled) : magnitude | 0x7f800000u));
}
inline float toFloat(BFloat value) { return std::bit_cast<float>(uint32_t(value.bits) << 16); }
inline float toFloat(float value) { return value; }
inline double toFloat(double value) { return value; }

/// Rounds to the nearest, ties to even.
Half toHalf(double value);
BFloat toBFloat(double value);
float fromE4M3(uint8_t bits);
float fromE5M2(uint8_t bits);
/// Saturating, as PTX's `.satfinite`.
uint8_t toE4M3(float value);
uint8_t toE5M2(float value);

template <class T> T as(Word word) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return T{uint16_t(word)};
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(uint32_t(word));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(word);
  else
    return T(word);
}

template <class T> Word word(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return value.bits;
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<Word>(value);
  else if constexpr (std::is_same_v<T, bool>)
    return value;
  else
    return std::make_unsigned_t<T>(value);
}

template <class R, class T, auto fn> void unary(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  forLanes(w.active, [&](int l) { d[l] = word<R>(fn(as<T>(a[l]))); });
}

template <class R, class T, auto fn> void binary(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) { d[l] = word<R>(fn(as<T>(a[l]), as<T>(b[l]))); });
}

template <class R, class T, auto fn> void ternary(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) { d[l] = word<R>(fn(as<T>(a[l]), as<T>(b[l]), as<T>(c[l]))); });
}

/// Calls `body.operator()<T>()` for the integer type of this name; null if it is none.
template <class Body> Handler forInteger(std::string_view type, Body body) {
  if (type == "s32")
    return body.template operator()<int32_t>();
  if (type == "u32" || type == "b32")
    return body.template operator()<uint32_t>();
  if (type == "s64")
    return body.template operator()<int64_t>();
  if (type == "u64" || type == "b64")
    return body.template operator()<uint64_t>();
  if (type == "s16")
    return body.template operator()<int16_t>();
  if (type == "u16" || type == "b16")
    return body.template operator()<uint16_t>();
  if (type == "s8")
    return body.template operator()<int8_t>();
  if (type == "u8" || type == "b8")
    return body.template operator()<uint8_t>();
  return nullptr;
}

/// As forInteger, for f16, bf16, f32 and f64.
template <class Body> Handler forFloat(std::string_view type, Body body) {
  if (type == "f32")
    return body.template operator()<float>();
  if (type == "f64")
    return body.template operator()<double>();
  if (type == "f16")
    return body.template operator()<Half>();
  if (type == "bf16")
    return body.template operator()<BFloat>();
  return nullptr;
}

/// Bits of "s32", "f16x2", "b128", "pred".
int bitsOf(std::string_view type);

} // namespace pantile::ptx
