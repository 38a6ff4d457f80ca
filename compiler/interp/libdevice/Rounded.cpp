//===- Rounded.cpp - arithmetic and conversions with a direction of rounding ------------------===//
// Needs: -frounding-math: no operation of this file may move past fesetround or be folded.
// Gives: addRoundedFunctions, addConversions.
// How:   A tile runs under one rounding mode of the processor, set and restored around a loop in a
//        separate function. Conversions to integers round first and then take the nearest value in
//        range; NaN gives what PTX's cvt gives.
//===------------------------------------------------------------------------------------===//
#include "interp/libdevice/TileLoop.h"
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>

namespace pantile::interp {
namespace {

struct RoundingScope {
  explicit RoundingScope(int direction) : saved(std::fegetround()) { std::fesetround(direction); }
  ~RoundingScope() { std::fesetround(saved); }
  int saved;
};

template <Handler loop, int direction> void runRounded(Frame &frame, const Instr &instr) {
  RoundingScope scope(direction);
  // Through a volatile pointer: the loop must not be inlined into the scope's set and restore.
  Handler volatile run = loop;
  run(frame, instr);
}

template <auto f, int direction, typename R, typename... Args>
HostFunction describeRounded(R (*)(Args...)) {
  return {runRounded<TileLoop<f, R, Args...>::run, direction>, elemFor<R>(), {elemFor<Args>()...}};
}

/// The names outlive the table.
std::string_view keep(std::string name) { return *new std::string(std::move(name)); }

template <auto f> void addAllDirections(HostFunctions &table, const std::string &prefix) {
  table[keep(prefix + "_rn")] = describeRounded<f, FE_TONEAREST>(f);
  table[keep(prefix + "_rz")] = describeRounded<f, FE_TOWARDZERO>(f);
  table[keep(prefix + "_rd")] = describeRounded<f, FE_DOWNWARD>(f);
  table[keep(prefix + "_ru")] = describeRounded<f, FE_UPWARD>(f);
}

template <typename T> T add(T x, T y) { return x + y; }
template <typename T> T subtract(T x, T y) { return x - y; }
template <typename T> T multiply(T x, T y) { return x * y; }
template <typename T> T divide(T x, T y) { return x / y; }
template <typename T> T reciprocal(T x) { return T(1) / x; }
template <typename T> T squareRoot(T x) { return std::sqrt(x); }
template <typename T> T fusedMultiplyAdd(T x, T y, T z) { return std::fma(x, y, z); }
/// Rounded once more from fp64, where 1 / sqrt(x) of a fp32 is never near a tie.
float reciprocalSquareRoot(float x) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}

template <typename To, typename From> To converted(From x) { return static_cast<To>(x); }

template <typename To, typename From> To toInteger(From x) {
  constexpr bool isNarrow = sizeof(To) == 4 && sizeof(From) == 4;
  constexpr To most = std::numeric_limits<To>::max(), least = std::numeric_limits<To>::min();
  using Unsigned = std::make_unsigned_t<To>;
  if (x != x)
    return isNarrow ? To(0) : static_cast<To>(Unsigned(1) << (8 * sizeof(To) - 1));
  const From rounded = std::nearbyint(x);
  const From bound = std::ldexp(From(1), std::numeric_limits<To>::digits);
  if (rounded >= bound)
    return most;
  if (rounded < (least == 0 ? From(0) : -bound))
    return least;
  return static_cast<To>(rounded);
}

template <typename From> void addToIntegers(HostFunctions &table, const std::string &from) {
  addAllDirections<toInteger<int32_t, From>>(table, "__nv_" + from + "2int");
  addAllDirections<toInteger<uint32_t, From>>(table, "__nv_" + from + "2uint");
  addAllDirections<toInteger<int64_t, From>>(table, "__nv_" + from + "2ll");
  addAllDirections<toInteger<uint64_t, From>>(table, "__nv_" + from + "2ull");
}

template <typename T> void addArithmetic(HostFunctions &table, const std::string &prefix) {
  addAllDirections<add<T>>(table, prefix + "add");
  addAllDirections<subtract<T>>(table, prefix + "sub");
  addAllDirections<multiply<T>>(table, prefix + "mul");
  addAllDirections<divide<T>>(table, prefix + "div");
  addAllDirections<reciprocal<T>>(table, prefix + "rcp");
  addAllDirections<squareRoot<T>>(table, prefix + "sqrt");
}

} // namespace

void addRoundedFunctions(HostFunctions &table) {
  addArithmetic<float>(table, "__nv_f");
  addArithmetic<double>(table, "__nv_d");
  addAllDirections<fusedMultiplyAdd<float>>(table, "__nv_fmaf");
  addAllDirections<fusedMultiplyAdd<double>>(table, "__nv_fma");
  table["__nv_frsqrt_rn"] = hostFunction<reciprocalSquareRoot>();
}

void addConversions(HostFunctions &table) {
  addToIntegers<float>(table, "float");
  addToIntegers<double>(table, "double");
  addAllDirections<converted<float, double>>(table, "__nv_double2float");
  addAllDirections<converted<float, int32_t>>(table, "__nv_int2float");
  addAllDirections<converted<float, uint32_t>>(table, "__nv_uint2float");
  addAllDirections<converted<float, int64_t>>(table, "__nv_ll2float");
  addAllDirections<converted<float, uint64_t>>(table, "__nv_ull2float");
  addAllDirections<converted<double, int64_t>>(table, "__nv_ll2double");
  addAllDirections<converted<double, uint64_t>>(table, "__nv_ull2double");
  table["__nv_int2double_rn"] = hostFunction<converted<double, int32_t>>();
  table["__nv_uint2double_rn"] = hostFunction<converted<double, uint32_t>>();
}

} // namespace pantile::interp
