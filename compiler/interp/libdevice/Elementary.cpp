//===- Elementary.cpp - libdevice's functions that libm has -----------------------------------===//
// Gives: addElementaryFunctions.
// How:   Functions of fp32 whose libm result is not the nearest float are computed in fp64 and
//        rounded once. Fast approximations are replaced by the exact functions here.
//===------------------------------------------------------------------------------------===//
#include "interp/libdevice/TileLoop.h"
#include <climits>
#include <cmath>

namespace pantile::interp {
namespace {

/// A function of fp64 for operands of type T.
template <typename T, double (*f)(double)> T unary(T x) {
  return static_cast<T>(f(static_cast<double>(x)));
}
template <typename T, double (*f)(double, double)> T binary(T x, T y) {
  return static_cast<T>(f(static_cast<double>(x), static_cast<double>(y)));
}

template <double (*f)(double)>
void addUnary(HostFunctions &table, std::string_view single, std::string_view full) {
  table[single] = hostFunction<unary<float, f>>();
  table[full] = hostFunction<unary<double, f>>();
}
template <double (*f)(double, double)>
void addBinary(HostFunctions &table, std::string_view single, std::string_view full) {
  table[single] = hostFunction<binary<float, f>>();
  table[full] = hostFunction<binary<double, f>>();
}

/// fp64's lgamma also writes a global; this one does not.
double logGamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
// libm's fp64 is off by more than one unit here; its wider type is not.
double reciprocalSqrt(double x) {
  return static_cast<double>(1 / std::sqrt(static_cast<long double>(x)));
}
double cubeRoot(double x) { return static_cast<double>(::cbrtl(x)); }
double powerOf10(double x) { return static_cast<double>(::exp10l(x)); }
double hyperbolicTangent(double x) { return static_cast<double>(::tanhl(x)); }
double divided(double x, double y) { return x / y; }

template <typename T> T fma(T x, T y, T z) { return std::fma(x, y, z); }
template <typename T> T nextAfter(T x, T y) { return std::nextafter(x, y); }
template <typename T> int64_t nearest(T x) {
  if (!(std::fabs(x) < T(0x1p63)))
    return x > 0 ? INT64_MAX : INT64_MIN;
  return std::llrint(x);
}
template <typename T> int64_t nearestAway(T x) { return nearest(std::round(x)); }
template <typename T> T scaled(T x, int32_t exponent) { return std::ldexp(x, exponent); }
template <typename T> int32_t exponentOf(T x) {
  if (x == 0 || x != x)
    return INT_MIN;
  return std::isinf(x) ? INT_MAX : std::ilogb(x);
}
template <typename T> int32_t signBit(T x) { return std::signbit(x); }
template <typename T> int32_t isNan(T x) { return x != x; }
template <typename T> int32_t isInfinite(T x) { return std::isinf(x); }
template <typename T> int32_t isFinite(T x) { return std::isfinite(x); }
float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

template <typename T> T power(T x, int32_t exponent) {
  return static_cast<T>(std::pow(static_cast<double>(x), exponent));
}
template <typename T> T besselJ(int32_t order, T x) { return static_cast<T>(::jn(order, x)); }
template <typename T> T besselY(int32_t order, T x) { return static_cast<T>(::yn(order, x)); }

void addRoots(HostFunctions &table) {
  addUnary<std::sqrt>(table, "__nv_sqrtf", "__nv_sqrt");
  addUnary<reciprocalSqrt>(table, "__nv_rsqrtf", "__nv_rsqrt");
  addUnary<cubeRoot>(table, "__nv_cbrtf", "__nv_cbrt");
  addBinary<std::hypot>(table, "__nv_hypotf", "__nv_hypot");
  addBinary<std::pow>(table, "__nv_powf", "__nv_pow");
  table["__nv_powif"] = hostFunction<power<float>>();
  table["__nv_powi"] = hostFunction<power<double>>();
  addUnary<std::exp>(table, "__nv_expf", "__nv_exp");
  addUnary<std::exp2>(table, "__nv_exp2f", "__nv_exp2");
  addUnary<powerOf10>(table, "__nv_exp10f", "__nv_exp10");
  addUnary<std::expm1>(table, "__nv_expm1f", "__nv_expm1");
  addUnary<std::log>(table, "__nv_logf", "__nv_log");
  addUnary<std::log2>(table, "__nv_log2f", "__nv_log2");
  addUnary<std::log10>(table, "__nv_log10f", "__nv_log10");
  addUnary<std::log1p>(table, "__nv_log1pf", "__nv_log1p");
  addBinary<std::fmod>(table, "__nv_fmodf", "__nv_fmod");
  addBinary<std::remainder>(table, "__nv_remainderf", "__nv_remainder");
  addBinary<std::fdim>(table, "__nv_fdimf", "__nv_fdim");
  table["__nv_fmaf"] = hostFunction<fma<float>>();
  table["__nv_fma"] = hostFunction<fma<double>>();
}

void addAngles(HostFunctions &table) {
  addUnary<std::sin>(table, "__nv_sinf", "__nv_sin");
  addUnary<std::cos>(table, "__nv_cosf", "__nv_cos");
  addUnary<std::tan>(table, "__nv_tanf", "__nv_tan");
  addUnary<std::asin>(table, "__nv_asinf", "__nv_asin");
  addUnary<std::acos>(table, "__nv_acosf", "__nv_acos");
  addUnary<std::atan>(table, "__nv_atanf", "__nv_atan");
  addBinary<std::atan2>(table, "__nv_atan2f", "__nv_atan2");
  addUnary<std::sinh>(table, "__nv_sinhf", "__nv_sinh");
  addUnary<std::cosh>(table, "__nv_coshf", "__nv_cosh");
  addUnary<hyperbolicTangent>(table, "__nv_tanhf", "__nv_tanh");
  addUnary<std::asinh>(table, "__nv_asinhf", "__nv_asinh");
  addUnary<std::acosh>(table, "__nv_acoshf", "__nv_acosh");
  addUnary<std::atanh>(table, "__nv_atanhf", "__nv_atanh");
}

void addParts(HostFunctions &table) {
  addUnary<std::fabs>(table, "__nv_fabsf", "__nv_fabs");
  addUnary<std::floor>(table, "__nv_floorf", "__nv_floor");
  addUnary<std::ceil>(table, "__nv_ceilf", "__nv_ceil");
  addUnary<std::trunc>(table, "__nv_truncf", "__nv_trunc");
  addUnary<std::round>(table, "__nv_roundf", "__nv_round");
  addUnary<std::nearbyint>(table, "__nv_rintf", "__nv_rint");
  addUnary<std::nearbyint>(table, "__nv_nearbyintf", "__nv_nearbyint");
  addUnary<std::logb>(table, "__nv_logbf", "__nv_logb");
  addBinary<std::copysign>(table, "__nv_copysignf", "__nv_copysign");
  table["__nv_nextafterf"] = hostFunction<nextAfter<float>>();
  table["__nv_nextafter"] = hostFunction<nextAfter<double>>();
  table["__nv_llrintf"] = hostFunction<nearest<float>>();
  table["__nv_llrint"] = hostFunction<nearest<double>>();
  table["__nv_llroundf"] = hostFunction<nearestAway<float>>();
  table["__nv_llround"] = hostFunction<nearestAway<double>>();
  table["__nv_ilogbf"] = hostFunction<exponentOf<float>>();
  table["__nv_ilogb"] = hostFunction<exponentOf<double>>();
  for (auto [single, full] :
       {std::pair("__nv_ldexpf", "__nv_ldexp"), {"__nv_scalbnf", "__nv_scalbn"}}) {
    table[single] = hostFunction<scaled<float>>();
    table[full] = hostFunction<scaled<double>>();
  }
  table["__nv_saturatef"] = hostFunction<saturate>();
  table["__nv_signbitf"] = hostFunction<signBit<float>>();
  table["__nv_signbitd"] = hostFunction<signBit<double>>();
  table["__nv_isnanf"] = hostFunction<isNan<float>>();
  table["__nv_isnand"] = hostFunction<isNan<double>>();
  table["__nv_isinff"] = hostFunction<isInfinite<float>>();
  table["__nv_isinfd"] = hostFunction<isInfinite<double>>();
  table["__nv_finitef"] = hostFunction<isFinite<float>>();
  table["__nv_isfinited"] = hostFunction<isFinite<double>>();
}

void addFast(HostFunctions &table) {
  table["__nv_fast_sinf"] = hostFunction<unary<float, std::sin>>();
  table["__nv_fast_cosf"] = hostFunction<unary<float, std::cos>>();
  table["__nv_fast_tanf"] = hostFunction<unary<float, std::tan>>();
  table["__nv_fast_tanhf"] = hostFunction<unary<float, hyperbolicTangent>>();
  table["__nv_fast_expf"] = hostFunction<unary<float, std::exp>>();
  table["__nv_fast_exp10f"] = hostFunction<unary<float, powerOf10>>();
  table["__nv_fast_logf"] = hostFunction<unary<float, std::log>>();
  table["__nv_fast_log2f"] = hostFunction<unary<float, std::log2>>();
  table["__nv_fast_log10f"] = hostFunction<unary<float, std::log10>>();
  table["__nv_fast_powf"] = hostFunction<binary<float, std::pow>>();
  table["__nv_fast_fdividef"] = hostFunction<binary<float, divided>>();
}

} // namespace

void addElementaryFunctions(HostFunctions &table) {
  addRoots(table);
  addAngles(table);
  addParts(table);
  addFast(table);
  addUnary<std::erf>(table, "__nv_erff", "__nv_erf");
  addUnary<std::erfc>(table, "__nv_erfcf", "__nv_erfc");
  addUnary<logGamma>(table, "__nv_lgammaf", "__nv_lgamma");
  addUnary<std::tgamma>(table, "__nv_tgammaf", "__nv_tgamma");
  addUnary<::j0>(table, "__nv_j0f", "__nv_j0");
  addUnary<::j1>(table, "__nv_j1f", "__nv_j1");
  addUnary<::y0>(table, "__nv_y0f", "__nv_y0");
  addUnary<::y1>(table, "__nv_y1f", "__nv_y1");
  table["__nv_jnf"] = hostFunction<besselJ<float>>();
  table["__nv_jn"] = hostFunction<besselJ<double>>();
  table["__nv_ynf"] = hostFunction<besselY<float>>();
  table["__nv_yn"] = hostFunction<besselY<double>>();
}

} // namespace pantile::interp
