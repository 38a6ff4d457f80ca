//===- Integers.cpp - libdevice's functions of integers, and the bits of floats ---------------===//
// Gives: addIntegerFunctions.
//===------------------------------------------------------------------------------------===//
#include "interp/libdevice/TileLoop.h"
#include <bit>
#include <cstdlib>

namespace pantile::interp {
namespace {

using int128 = __int128;
using uint128 = unsigned __int128;

template <typename T> int32_t leadingZeros(T x) { return std::countl_zero(x); }
template <typename T> int32_t ones(T x) { return std::popcount(x); }
template <typename T> int32_t firstOne(T x) { return x ? std::countr_zero(x) + 1 : 0; }

template <typename T> T reversed(T x) {
  T result = 0;
  for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
    result |= ((x >> bit) & 1) << (8 * sizeof(T) - 1 - bit);
  return result;
}

uint32_t bytePerm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = uint64_t(y) << 32 | x;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= uint32_t(bytes >> (8 * ((selector >> (4 * i)) & 7)) & 0xff) << (8 * i);
  return result;
}

template <typename T, typename Wide> T upperHalf(T x, T y) {
  return static_cast<T>((static_cast<Wide>(x) * static_cast<Wide>(y)) >> (8 * sizeof(T)));
}

/// The lower 24 bits, sign-extended.
int32_t signed24(int32_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8; }
int32_t mul24(int32_t x, int32_t y) {
  return static_cast<int32_t>(int64_t(signed24(x)) * signed24(y));
}
uint32_t umul24(uint32_t x, uint32_t y) { return (x & 0xffffff) * (y & 0xffffff); }

int32_t sad(int32_t x, int32_t y, uint32_t z) {
  return static_cast<int32_t>(static_cast<uint32_t>(std::abs(int64_t(x) - y)) + z);
}
uint32_t usad(uint32_t x, uint32_t y, uint32_t z) { return (x > y ? x - y : y - x) + z; }

template <typename T, int rounding> T average(T x, T y) {
  return static_cast<T>((int64_t(x) + int64_t(y) + rounding) >> 1);
}

template <typename T> T magnitude(T x) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(x < 0 ? Unsigned(0) - static_cast<Unsigned>(x) : static_cast<Unsigned>(x));
}

template <typename To, typename From> To bits(From x) { return std::bit_cast<To>(x); }
double joined(uint32_t high, uint32_t low) {
  return std::bit_cast<double>(uint64_t(high) << 32 | low);
}
int32_t lowHalf(double x) { return static_cast<int32_t>(std::bit_cast<uint64_t>(x)); }
int32_t highHalf(double x) { return static_cast<int32_t>(std::bit_cast<uint64_t>(x) >> 32); }

void addBits(HostFunctions &table) {
  table["__nv_int_as_float"] = hostFunction<bits<float, int32_t>>();
  table["__nv_uint_as_float"] = hostFunction<bits<float, uint32_t>>();
  table["__nv_longlong_as_double"] = hostFunction<bits<double, int64_t>>();
  table["__nv_float_as_int"] = hostFunction<bits<int32_t, float>>();
  table["__nv_float_as_uint"] = hostFunction<bits<uint32_t, float>>();
  table["__nv_double_as_longlong"] = hostFunction<bits<int64_t, double>>();
  table["__nv_hiloint2double"] = hostFunction<joined>();
  table["__nv_double2loint"] = hostFunction<lowHalf>();
  table["__nv_double2hiint"] = hostFunction<highHalf>();
}

} // namespace

void addIntegerFunctions(HostFunctions &table) {
  table["__nv_clz"] = hostFunction<leadingZeros<uint32_t>>();
  table["__nv_clzll"] = hostFunction<leadingZeros<uint64_t>>();
  table["__nv_popc"] = hostFunction<ones<uint32_t>>();
  table["__nv_popcll"] = hostFunction<ones<uint64_t>>();
  table["__nv_ffs"] = hostFunction<firstOne<uint32_t>>();
  table["__nv_ffsll"] = hostFunction<firstOne<uint64_t>>();
  table["__nv_brev"] = hostFunction<reversed<uint32_t>>();
  table["__nv_brevll"] = hostFunction<reversed<uint64_t>>();
  table["__nv_byte_perm"] = hostFunction<bytePerm>();
  table["__nv_mulhi"] = hostFunction<upperHalf<int32_t, int64_t>>();
  table["__nv_umulhi"] = hostFunction<upperHalf<uint32_t, uint64_t>>();
  table["__nv_mul64hi"] = hostFunction<upperHalf<int64_t, int128>>();
  table["__nv_umul64hi"] = hostFunction<upperHalf<uint64_t, uint128>>();
  table["__nv_mul24"] = hostFunction<mul24>();
  table["__nv_umul24"] = hostFunction<umul24>();
  table["__nv_sad"] = hostFunction<sad>();
  table["__nv_usad"] = hostFunction<usad>();
  table["__nv_hadd"] = hostFunction<average<int32_t, 0>>();
  table["__nv_uhadd"] = hostFunction<average<uint32_t, 0>>();
  table["__nv_rhadd"] = hostFunction<average<int32_t, 1>>();
  table["__nv_urhadd"] = hostFunction<average<uint32_t, 1>>();
  table["__nv_abs"] = hostFunction<magnitude<int32_t>>();
  table["__nv_llabs"] = hostFunction<magnitude<int64_t>>();
  addBits(table);
}

} // namespace pantile::interp
