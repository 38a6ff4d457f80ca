//===- SmallFloats.cpp - floats of 8 and 16 bits ------------------------------------------===//
// Needs: Values.h.
// Gives: toHalf, toBFloat, fromE4M3, fromE5M2, toE4M3, toE5M2.
// How:   a value is rounded as a multiple of its unit in the last place, in double.
//===------------------------------------------------------------------------------------------===//
#include "Values.h"

namespace pantile::ptx {
namespace {

/// `value` with `mantissa` bits after the point and exponents from `lowest` on; ties to even.
double roundTo(double value, int mantissa, int lowest) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const int exponent = std::max(std::ilogb(value), lowest);
  return std::ldexp(std::nearbyint(std::ldexp(value, mantissa - exponent)), exponent - mantissa);
}

/// The bits of a rounded value that the format has.
unsigned encode(double value, int mantissa, int lowest, int bias) {
  const double size = std::fabs(value);
  unsigned bits = 0;
  if (size >= std::ldexp(1.0, lowest)) {
    const int exponent = std::ilogb(size);
    bits = (exponent + bias) << mantissa;
    bits += unsigned(std::ldexp(size, mantissa - exponent)) - (1u << mantissa);
  } else
    bits = unsigned(std::ldexp(size, mantissa - lowest));
  return bits;
}

double decode(unsigned bits, int mantissa, int bias) {
  const int exponent = bits >> mantissa;
  const unsigned fraction = bits & ((1u << mantissa) - 1);
  return exponent ? std::ldexp(fraction + (1u << mantissa), exponent - bias - mantissa)
                  : std::ldexp(fraction, 1 - bias - mantissa);
}

} // namespace

Half toHalf(double value) { return {std::bit_cast<uint16_t>(static_cast<_Float16>(value))}; }

BFloat toBFloat(double value) {
  if (std::isnan(value))
    return {0x7fff};
  const float rounded = roundTo(value, 7, -126); // infinite where it does not fit
  return {uint16_t(std::bit_cast<uint32_t>(rounded) >> 16)};
}

float fromE4M3(uint8_t bits) {
  const unsigned size = bits & 0x7f;
  const double value = size == 0x7f ? NAN : decode(size, 3, 7);
  return bits & 0x80 ? -value : value;
}

float fromE5M2(uint8_t bits) {
  const unsigned size = bits & 0x7f;
  const double value = size > 0x7c ? NAN : size == 0x7c ? INFINITY : decode(size, 2, 15);
  return bits & 0x80 ? -value : value;
}

uint8_t toE4M3(float value) {
  if (std::isnan(value))
    return 0x7f;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  return sign | encode(std::min(std::fabs(roundTo(value, 3, -6)), 448.0), 3, -6, 7);
}

uint8_t toE5M2(float value) {
  if (std::isnan(value))
    return 0x7f;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  return sign | encode(std::min(std::fabs(roundTo(value, 2, -14)), 57344.0), 2, -14, 15);
}

} // namespace pantile::ptx
