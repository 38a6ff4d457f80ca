//===- Special.cpp - libdevice's functions that libm lacks ------------------------------------===//
// Gives: addSpecialFunctions.
// How:   Boost.Math where it has the function, with errors as values; else formulas in fp64 whose
//        relative error stays within a few units in the last place. Sources: DLMF 7.9 (continued
//        fraction of erfc), 7.12 (its asymptotic series), 10.40 (growth of I).
//===------------------------------------------------------------------------------------===//
#include "interp/libdevice/TileLoop.h"
#include <bit>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/cos_pi.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/sin_pi.hpp>
#include <cmath>
#include <limits>

namespace pantile::interp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

namespace policies = boost::math::policies;
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_float<false>>;

/// Reduced to |x| <= 1 exactly; a multiple of 1/2 gives exact values with C's signs.
double sinPi(double x) {
  if (!std::isfinite(x))
    return nan;
  const double reduced = std::fmod(x, 2.0);
  if (reduced == std::trunc(reduced))
    return std::copysign(0.0, x);
  return boost::math::sin_pi(reduced, Quiet());
}
double cosPi(double x) {
  if (!std::isfinite(x))
    return nan;
  const double reduced = std::fmod(std::fabs(x), 2.0);
  if (reduced == 0.5 || reduced == 1.5)
    return 0;
  return boost::math::cos_pi(reduced, Quiet());
}

double erfInverse(double x) {
  if (!(std::fabs(x) <= 1))
    return nan;
  if (std::fabs(x) == 1)
    return std::copysign(infinity, x);
  return x == 0 ? x : boost::math::erf_inv(x, Quiet());
}
double erfcInverse(double x) {
  if (!(x >= 0 && x <= 2))
    return nan;
  if (x == 0 || x == 2)
    return x == 0 ? infinity : -infinity;
  return boost::math::erfc_inv(x, Quiet());
}

/// exp(x^2) with the square's rounding error carried along.
double expOfSquare(double x) {
  const double square = x * x;
  return std::exp(square) * (1 + std::fma(x, x, -square));
}
double scaledErfc(double x) {
  if (x != x)
    return x;
  if (x < 0)
    return x < -27 ? infinity : 2 * expOfSquare(x) - scaledErfc(-x);
  if (x < 2)
    return expOfSquare(x) * std::erfc(x);
  if (x > 1e8)
    return 1 / (x * std::sqrt(M_PI));
  double fraction = x;
  for (int k = 120; k > 0; --k)
    fraction = x + 0.5 * k / fraction;
  return 1 / (fraction * std::sqrt(M_PI));
}

/// x / sqrt(2) in two parts: erfc multiplies the relative error of its operand by its square.
double normalCdf(double x) {
  if (!std::isfinite(x))
    return x != x ? x : x > 0;
  const double high = -x * M_SQRT1_2;
  const double low = std::fma(-x, M_SQRT1_2, -high) + x * 4.833646656726457e-17;
  const double slope = -2 / std::sqrt(M_PI) * std::exp(-high * high);
  return 0.5 * (std::erfc(high) + slope * low);
}
double normalCdfInverse(double x) {
  if (!(x >= 0 && x <= 1))
    return nan;
  return -M_SQRT2 * erfcInverse(2 * x);
}

template <int order> double modifiedBessel(double x) {
  const double magnitude = std::fabs(x);
  if (x != x)
    return x;
  // I grows as exp(x) / sqrt(2 pi x): past this it is out of range.
  const double value =
      magnitude > 714 ? infinity : boost::math::cyl_bessel_i(order, magnitude, Quiet());
  return order == 1 && x < 0 ? -value : value;
}

double reciprocalCbrt(double x) { return static_cast<double>(1 / ::cbrtl(x)); }
double reciprocalHypot(double x, double y) { return static_cast<double>(1 / ::hypotl(x, y)); }

/// Scaled by the largest, and summed in the wider type.
long double length(double x, double y, double z, double w) {
  double largest = 0;
  for (double part : {x, y, z, w}) {
    if (std::isinf(part))
      return infinity;
    largest = std::fmax(largest, std::fabs(part));
  }
  if (x != x || y != y || z != z || w != w)
    return nan;
  if (largest == 0)
    return 0;
  int exponent;
  std::frexp(largest, &exponent);
  long double sum = 0;
  for (double part : {x, y, z, w}) {
    const long double scaled = std::ldexp(static_cast<long double>(part), -exponent);
    sum += scaled * scaled;
  }
  return std::ldexp(std::sqrt(sum), exponent);
}

template <typename T> T norm3(T x, T y, T z) { return static_cast<T>(length(x, y, z, 0)); }
template <typename T> T norm4(T x, T y, T z, T w) { return static_cast<T>(length(x, y, z, w)); }
template <typename T> T reciprocalNorm3(T x, T y, T z) {
  return static_cast<T>(1 / length(x, y, z, 0));
}
template <typename T> T reciprocalNorm4(T x, T y, T z, T w) {
  return static_cast<T>(1 / length(x, y, z, w));
}

/// The upper half of 1 / x; denormals count as 0, as operand and as result.
double reciprocalUpperHalf(double x) {
  constexpr double smallest = std::numeric_limits<double>::min();
  if (std::fabs(x) < smallest)
    return std::copysign(infinity, x);
  const double reciprocal = 1 / x;
  if (std::fabs(reciprocal) < smallest)
    return std::copysign(0.0, reciprocal);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(reciprocal) & 0xffffffff00000000u);
}

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

} // namespace

void addSpecialFunctions(HostFunctions &table) {
  addUnary<sinPi>(table, "__nv_sinpif", "__nv_sinpi");
  addUnary<cosPi>(table, "__nv_cospif", "__nv_cospi");
  addUnary<erfInverse>(table, "__nv_erfinvf", "__nv_erfinv");
  addUnary<erfcInverse>(table, "__nv_erfcinvf", "__nv_erfcinv");
  addUnary<scaledErfc>(table, "__nv_erfcxf", "__nv_erfcx");
  addUnary<normalCdf>(table, "__nv_normcdff", "__nv_normcdf");
  addUnary<normalCdfInverse>(table, "__nv_normcdfinvf", "__nv_normcdfinv");
  addUnary<modifiedBessel<0>>(table, "__nv_cyl_bessel_i0f", "__nv_cyl_bessel_i0");
  addUnary<modifiedBessel<1>>(table, "__nv_cyl_bessel_i1f", "__nv_cyl_bessel_i1");
  addUnary<reciprocalCbrt>(table, "__nv_rcbrtf", "__nv_rcbrt");
  table["__nv_rhypotf"] = hostFunction<binary<float, reciprocalHypot>>();
  table["__nv_rhypot"] = hostFunction<binary<double, reciprocalHypot>>();
  table["__nv_norm3df"] = hostFunction<norm3<float>>();
  table["__nv_norm3d"] = hostFunction<norm3<double>>();
  table["__nv_norm4df"] = hostFunction<norm4<float>>();
  table["__nv_norm4d"] = hostFunction<norm4<double>>();
  table["__nv_rnorm3df"] = hostFunction<reciprocalNorm3<float>>();
  table["__nv_rnorm3d"] = hostFunction<reciprocalNorm3<double>>();
  table["__nv_rnorm4df"] = hostFunction<reciprocalNorm4<float>>();
  table["__nv_rnorm4d"] = hostFunction<reciprocalNorm4<double>>();
  table["__nv_rcp64h"] = hostFunction<reciprocalUpperHalf>();
}

} // namespace pantile::interp
