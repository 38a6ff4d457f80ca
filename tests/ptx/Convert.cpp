//===- Convert.cpp - cvt -------------------------------------------------------------===//
// Needs: Values.h.
// Gives: decodeConvert.
// How:   Sources are converted to long double, which represents every type exactly; frequent pairs
//        of types have handlers of their own.
//===------------------------------------------------------------------------------------------===//
#include "Values.h"
#include <cfenv>
#include <limits>

namespace pantile::ptx {
namespace {

using Exact = long double;

template <class T> Exact exact(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else
    return toFloat(value);
}

int roundingOf(const Opcode &op) {
  if (op.has("rz") || op.has("rzi"))
    return FE_TOWARDZERO;
  if (op.has("rm") || op.has("rmi"))
    return FE_DOWNWARD;
  if (op.has("rp") || op.has("rpi"))
    return FE_UPWARD;
  return FE_TONEAREST;
}

bool roundsToInteger(const Opcode &op) {
  return op.has("rni") || op.has("rzi") || op.has("rmi") || op.has("rpi");
}

/// To a float of 16 bits from a float of more, truncating or rounding to the nearest.
template <class D> D narrowed(Exact value, bool truncates) {
  D result;
  // Through a double that is rounded to odd, so that the second rounding sees the first.
  double odd = double(value);
  if (Exact(odd) != value && !std::isinf(odd) && !std::isnan(value)) {
    if (std::fabs(odd) > std::fabs(value))
      odd = std::nextafter(odd, 0.0);
    odd = std::bit_cast<double>(std::bit_cast<Word>(odd) | 1);
  }
  if constexpr (std::is_same_v<D, Half>)
    result = toHalf(odd);
  else
    result = toBFloat(odd);
  if (truncates && std::fabs(Exact(toFloat(result))) > std::fabs(value) && !std::isnan(value))
    --result.bits;
  return result;
}

/// A byte fills its register, whose width is not known here, with its sign.
template <class D> Word filled(D value) {
  return std::is_same_v<D, int8_t> ? Word(int64_t(value)) : word<D>(value);
}

template <class D> D toInteger(Exact value, bool fromDouble) {
  using Limits = std::numeric_limits<D>;
  if (std::isnan(value)) {
    const bool zero = !fromDouble && sizeof(D) < 8;
    return zero ? D(0) : std::is_signed_v<D> ? Limits::min() : D(Word(1) << (sizeof(D) * 8 - 1));
  }
  const Exact whole = std::nearbyint(value);
  if (whole < Exact(Limits::min()))
    return Limits::min();
  if (whole > Exact(Limits::max()))
    return Limits::max();
  return D(whole);
}

template <class D, class S> Word converted(const Instruction &i, Word source) {
  const bool flushes = i.op.has("ftz");
  S given = as<S>(source);
  if constexpr (std::is_same_v<S, float>)
    if (flushes && std::fabs(given) < 0x1p-126f)
      given = std::copysign(0.0f, given);
  Exact value = exact(given);
  if constexpr (std::is_integral_v<D>) {
    if constexpr (std::is_integral_v<S>) {
      if (!i.op.has("sat"))
        return filled<D>(D(given));
    }
    return filled<D>(toInteger<D>(value, std::is_same_v<S, double>));
  } else {
    if (roundsToInteger(i.op))
      value = std::nearbyint(value);
    if (i.op.has("sat"))
      value = !(value > 0) ? 0 : value > 1 ? 1 : value;
    if (i.op.has("relu") && value < 0)
      value = 0;
    if constexpr (std::is_same_v<D, Half> || std::is_same_v<D, BFloat>) {
      return word<D>(narrowed<D>(value, i.number[0] == FE_TOWARDZERO));
    } else {
      D result = D(value);
      if (flushes && std::is_same_v<D, float> && std::fabs(result) < D(0x1p-126))
        result = std::copysign(D(0), result);
      return word<D>(result);
    }
  }
}

template <class D, class S> void convert(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const bool narrows = std::is_same_v<D, Half> || std::is_same_v<D, BFloat>;
  if (i.number[0] != FE_TONEAREST && (!narrows || roundsToInteger(i.op)))
    std::fesetround(i.number[0]);
  forLanes(w.active, [&](int l) { d[l] = converted<D, S>(i, a[l]); });
  std::fesetround(FE_TONEAREST);
}

constexpr auto floatOf = [](auto value) { return float(toFloat(value)); };
constexpr auto halfOf = [](float value) { return toHalf(value); };
constexpr auto cast32 = [](auto value) { return float(value); };

/// Two floats to two of 8 or 16 bits; the first operand becomes the upper one.
void convertPair(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  const std::string &type = i.op.parts[i.op.parts.size() - 2];
  const bool truncates = i.op.has("rz"), relu = i.op.has("relu");
  auto one = [&](Word bits) -> Word {
    float value = as<float>(bits);
    if (relu && value < 0)
      value = 0;
    if (type == "f16x2")
      return narrowed<Half>(value, truncates).bits;
    if (type == "bf16x2")
      return narrowed<BFloat>(value, truncates).bits;
    return type == "e4m3x2" ? toE4M3(value) : toE5M2(value);
  };
  const int width = type.starts_with("e") ? 8 : 16;
  forLanes(w.active, [&](int l) { d[l] = one(a[l]) << width | one(b[l]); });
}

/// Between pairs of 16 bits and pairs of 8.
void widenPair(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const bool isE4M3 = i.op.last() == "e4m3x2";
  forLanes(w.active, [&](int l) {
    auto one = [&](uint8_t bits) { return word(toHalf(isE4M3 ? fromE4M3(bits) : fromE5M2(bits))); };
    d[l] = one(a[l] >> 8) << 16 | one(a[l]);
  });
}
void narrowPair(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const bool isE4M3 = i.op.last(1) == "e4m3x2";
  forLanes(w.active, [&](int l) {
    auto one = [&](Word bits) -> Word {
      const float value = toFloat(as<Half>(bits));
      return isE4M3 ? toE4M3(value) : toE5M2(value);
    };
    d[l] = one(a[l] >> 16) << 8 | one(a[l]);
  });
}

/// To the nearest tf32, ties away from zero.
constexpr auto toTf32 = [](uint32_t bits) {
  const bool special = (bits & 0x7f800000) == 0x7f800000;
  return special ? bits : (bits + 0x1000) & ~0x1fffu;
};

template <class D> Handler fromType(std::string_view source) {
  auto choose = []<class S>() -> Handler { return convert<D, S>; };
  const Handler handler = forInteger(source, choose);
  return handler ? handler : forFloat(source, choose);
}

} // namespace

Handler decodeConvert(Instruction &i) {
  if (i.op.base != "cvt" || i.op.parts.size() < 2)
    return nullptr;
  const std::string_view to = i.op.last(1), from = i.op.last();
  i.number[0] = roundingOf(i.op);
  if (to == "tf32")
    return i.op.has("rna") ? unary<uint32_t, uint32_t, toTf32> : nullptr;
  if (i.operands.size() == 3 && to.ends_with("x2") && from == "f32")
    return convertPair;
  if (to == "f16x2" && from.starts_with("e"))
    return widenPair;
  if (to.starts_with("e") && from == "f16x2")
    return narrowPair;
  const bool isPlain = i.op.parts.size() == 2;
  if (isPlain && to == "f32" && from == "f16")
    return unary<float, Half, floatOf>;
  if (isPlain && to == "f32" && from == "bf16")
    return unary<float, BFloat, floatOf>;
  if (i.op.text == "cvt.rn.f16.f32")
    return unary<Half, float, halfOf>;
  if (i.op.text == "cvt.rn.f32.s32")
    return unary<float, int32_t, cast32>;
  const Handler handler = forInteger(to, [&]<class D>() { return fromType<D>(from); });
  return handler ? handler : forFloat(to, [&]<class D>() { return fromType<D>(from); });
}

} // namespace pantile::ptx
