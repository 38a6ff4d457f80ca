//===- Float.cpp - float arithmetic, and comparisons of all types --------------------===//
// Needs: Values.h.
// Gives: decodeFloat, decodeCompare.
// How:   16-bit types are computed in double and rounded once. The approximate instructions are the
//        host's functions, rounded to the type: more accurate than the hardware's.
//===------------------------------------------------------------------------------------------===//
#include "Values.h"
#include <cfenv>

namespace pantile::ptx {
namespace {

template <class T> T roundedTo(double value) {
  if constexpr (std::is_same_v<T, Half>)
    return toHalf(value);
  else if constexpr (std::is_same_v<T, BFloat>)
    return toBFloat(value);
  else
    return T(value);
}

template <class T> T flush(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    constexpr int exponent = std::is_same_v<T, Half> ? 0x7c00 : 0x7f80;
    return value.bits & exponent ? value : T{uint16_t(value.bits & 0x8000)};
  }
  return value;
}

/// What the modifiers add to an operation.
struct Mode {
  explicit Mode(const Instruction &i)
      : flushes(i.op.has("ftz")), saturates(i.op.has("sat")), relu(i.op.has("relu")) {}

  template <class T> T in(T value) const { return flushes ? flush(value) : value; }
  template <class T> T out(T value) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (flushes)
        value = flush(value);
      if (saturates)
        value = !(value > 0) ? T(0) : value > 1 ? T(1) : value;
      if (relu && value < 0)
        value = 0;
      return value;
    } else {
      if (flushes)
        value = flush(value);
      if (saturates && !(toFloat(value) > 0))
        return {0};
      if (saturates && toFloat(value) > 1)
        return toSame(value, 1);
      return relu && toFloat(value) < 0 ? T{0} : value;
    }
  }
  static Half toSame(Half, double value) { return toHalf(value); }
  static BFloat toSame(BFloat, double value) { return toBFloat(value); }
  bool flushes, saturates, relu;
};

class Rounding {
public:
  explicit Rounding(const Instruction &i)
      : mode(i.op.has("rz")   ? FE_TOWARDZERO
             : i.op.has("rm") ? FE_DOWNWARD
             : i.op.has("rp") ? FE_UPWARD
                              : FE_TONEAREST) {
    if (mode != FE_TONEAREST)
      std::fesetround(mode);
  }
  ~Rounding() {
    if (mode != FE_TONEAREST)
      std::fesetround(FE_TONEAREST);
  }

private:
  int mode;
};

/// Float and double are computed as they are, smaller types in double.
template <class T> using Computed = std::conditional_t<std::is_floating_point_v<T>, T, double>;

template <class T, auto fn> void unaryFloat(Warp &w, const Instruction &i) {
  const Mode mode(i);
  const Rounding rounding(i);
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  forLanes(w.active, [&](int l) {
    const Computed<T> x = toFloat(mode.in(as<T>(a[l])));
    d[l] = word<T>(mode.out(roundedTo<T>(fn(x))));
  });
}

template <class T, auto fn> void binaryFloat(Warp &w, const Instruction &i) {
  const Mode mode(i);
  const Rounding rounding(i);
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) {
    const Computed<T> x = toFloat(mode.in(as<T>(a[l]))), y = toFloat(mode.in(as<T>(b[l])));
    d[l] = word<T>(mode.out(roundedTo<T>(fn(Computed<T>(x), Computed<T>(y)))));
  });
}

template <class T, auto fn> void ternaryFloat(Warp &w, const Instruction &i) {
  const Mode mode(i);
  const Rounding rounding(i);
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    const Computed<T> x = toFloat(mode.in(as<T>(a[l]))), y = toFloat(mode.in(as<T>(b[l]))),
                      z = toFloat(mode.in(as<T>(c[l])));
    d[l] = word<T>(mode.out(roundedTo<T>(fn(Computed<T>(x), Computed<T>(y), Computed<T>(z)))));
  });
}

/// Two 16-bit floats in a word: `handler` sees them one after the other.
template <class T, int count, auto fn> void packedFloat(Warp &w, const Instruction &i) {
  const Mode mode(i);
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[count > 1 ? 2 : 1]), *c = w.reg(i[count > 2 ? 3 : 1]);
  forLanes(w.active, [&](int l) {
    Word result = 0;
    for (int shift = 0; shift < 32; shift += 16) {
      auto in = [&](Word word) { return toFloat(mode.in(as<T>(word >> shift))); };
      const double x = in(a[l]), y = in(b[l]), z = in(c[l]);
      double value;
      if constexpr (count == 1)
        value = fn(x);
      else if constexpr (count == 2)
        value = fn(x, y);
      else
        value = fn(x, y, z);
      result |= word<T>(mode.out(roundedTo<T>(value))) << shift;
    }
    d[l] = result;
  });
}

/// add, sub and fma of float with operands of 16 bits: add.rn.f32.bf16.
template <class T, auto fn> void mixed(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) { d[l] = word<float>(fn(toFloat(as<T>(a[l])), as<float>(b[l]))); });
}
template <class T> void mixedFma(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    d[l] = word<float>(std::fma(toFloat(as<T>(a[l])), toFloat(as<T>(b[l])), as<float>(c[l])));
  });
}

constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto sub = [](auto a, auto b) { return a - b; };
constexpr auto mul = [](auto a, auto b) { return a * b; };
constexpr auto divide = [](auto a, auto b) { return a / b; };
constexpr auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto negate = [](auto a) { return -a; };
constexpr auto absolute = [](auto a) { return std::fabs(a); };
constexpr auto signFrom = [](auto a, auto b) { return std::copysign(b, a); };
constexpr auto root = [](auto a) { return std::sqrt(a); };
constexpr auto inverse = [](auto a) { return 1 / a; };
constexpr auto inverseRoot = [](auto a) { return decltype(a)(1 / std::sqrt(double(a))); };
constexpr auto sine = [](auto a) { return decltype(a)(std::sin(double(a))); };
constexpr auto cosine = [](auto a) { return decltype(a)(std::cos(double(a))); };
constexpr auto tangentH = [](auto a) { return decltype(a)(std::tanh(double(a))); };
constexpr auto power2 = [](auto a) { return decltype(a)(std::exp2(double(a))); };
constexpr auto logarithm2 = [](auto a) { return decltype(a)(std::log2(double(a))); };

template <bool takesLess, bool keepsNan>
constexpr auto extreme = [](auto a, auto b) {
  if (std::isnan(a) || std::isnan(b))
    return keepsNan || (std::isnan(a) && std::isnan(b)) ? decltype(a)(NAN) : std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) == takesLess ? a : b; // -0 is less than +0
  return (a < b) == takesLess ? a : b;
};

template <int count, auto fn> Handler forFloats(std::string_view type) {
  if (type == "f16x2")
    return packedFloat<Half, count, fn>;
  if (type == "bf16x2")
    return packedFloat<BFloat, count, fn>;
  return forFloat(type, []<class T>() -> Handler {
    if constexpr (count == 1)
      return unaryFloat<T, fn>;
    else if constexpr (count == 2)
      return binaryFloat<T, fn>;
    else
      return ternaryFloat<T, fn>;
  });
}

Handler decodeMixed(const Instruction &i) {
  const std::string_view type = i.op.last();
  auto choose = [&]<class T>() -> Handler {
    const std::string &base = i.op.base;
    return base == "add"   ? mixed<T, add>
           : base == "sub" ? mixed<T, sub>
           : base == "fma" ? Handler(mixedFma<T>)
                           : nullptr;
  };
  return type == "f16"    ? choose.operator()<Half>()
         : type == "bf16" ? choose.operator()<BFloat>()
                          : nullptr;
}

//===- comparisons --------------------------------------------------------------------------===//

/// Bits of a comparison: less, equal, greater, unordered.
enum Outcome { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

int acceptedBy(std::string_view name) {
  static const std::map<std::string_view, int> table = {{"eq", Equal},
                                                        {"ne", Less | Greater},
                                                        {"lt", Less},
                                                        {"le", Less | Equal},
                                                        {"gt", Greater},
                                                        {"ge", Greater | Equal},
                                                        {"lo", Less},
                                                        {"ls", Less | Equal},
                                                        {"hi", Greater},
                                                        {"hs", Greater | Equal},
                                                        {"equ", Equal | Unordered},
                                                        {"neu", Less | Greater | Unordered},
                                                        {"ltu", Less | Unordered},
                                                        {"leu", Less | Equal | Unordered},
                                                        {"gtu", Greater | Unordered},
                                                        {"geu", Greater | Equal | Unordered},
                                                        {"num", Less | Equal | Greater},
                                                        {"nan", Unordered}};
  auto found = table.find(name);
  return found == table.end() ? 0 : found->second;
}

template <class T> void compare(Warp &w, const Instruction &i) {
  const Mode mode(i);
  Word *d = i[0].kind == Operand::Discard ? nullptr : w.reg(i[0]);
  Word *other = !i[0].parts.empty() && i[0].parts[0].kind != Operand::Discard ? w.reg(i[0].parts[0])
                                                                              : nullptr;
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  const Word *p = i.operands.size() > 3 ? w.reg(i[3]) : nullptr;
  forLanes(w.active, [&](int l) {
    Outcome outcome;
    auto rank = [&](auto x, auto y) {
      outcome = x < y ? Less : x > y ? Greater : x == y ? Equal : Unordered;
    };
    if constexpr (std::is_integral_v<T>)
      rank(as<T>(a[l]), as<T>(b[l]));
    else
      rank(toFloat(mode.in(as<T>(a[l]))), toFloat(mode.in(as<T>(b[l]))));
    bool holds = i.number[0] & outcome, opposite = !holds;
    if (p) {
      const bool with = bool(p[l] & 1) != i[3].inverted;
      auto combine = [&](bool x) {
        return i.number[1] == 'a' ? x && with : i.number[1] == 'o' ? x || with : x != with;
      };
      holds = combine(holds), opposite = combine(opposite);
    }
    const Word yes =
        i.op.base == "set"
            ? (i.op.parts[i.op.parts.size() - 2] == "f32" ? word<float>(1) : word<uint32_t>(~0u))
            : 1;
    if (d)
      d[l] = holds ? yes : 0;
    if (other)
      other[l] = opposite;
  });
}

/// Both halves of packed registers: setp.lt.f16x2 p|q.
template <class T> void comparePacked(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]), *other = w.reg(i[0].parts[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) {
    auto test = [&](int shift) {
      const float x = toFloat(as<T>(a[l] >> shift)), y = toFloat(as<T>(b[l] >> shift));
      return bool(i.number[0] & (x < y ? Less : x > y ? Greater : x == y ? Equal : Unordered));
    };
    const bool low = test(0), high = test(16);
    d[l] = low, other[l] = high;
  });
}

void testProperty(Warp &w, const Instruction &i) {
  const bool isDouble = i.op.last() == "f64";
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const std::string &what = i.op.parts[0];
  forLanes(w.active, [&](int l) {
    const double x = isDouble ? as<double>(a[l]) : as<float>(a[l]);
    const int kind = isDouble ? std::fpclassify(x) : std::fpclassify(as<float>(a[l]));
    d[l] = what == "finite"       ? std::isfinite(x)
           : what == "infinite"   ? std::isinf(x)
           : what == "number"     ? !std::isnan(x)
           : what == "notanumber" ? std::isnan(x)
           : what == "normal"     ? kind == FP_NORMAL
                                  : kind == FP_SUBNORMAL;
  });
}

} // namespace

Handler decodeCompare(Instruction &i) {
  if (i.op.base == "testp")
    return testProperty;
  if ((i.op.base != "setp" && i.op.base != "set") || i.op.parts.empty())
    return nullptr;
  i.number[0] = acceptedBy(i.op.parts[0]);
  i.number[1] = i.op.has("and") ? 'a' : i.op.has("or") ? 'o' : 'x';
  const std::string_view type = i.op.last();
  if (type == "f16x2")
    return comparePacked<Half>;
  if (type == "bf16x2")
    return comparePacked<BFloat>;
  auto choose = []<class T>() -> Handler { return compare<T>; };
  const Handler handler = forInteger(type, choose);
  return handler ? handler : forFloat(type, choose);
}

Handler decodeFloat(Instruction &i) {
  const std::string &base = i.op.base;
  const std::string_view type = i.op.last();
  if (i.op.last(1) == "f32" && type != "f32")
    return decodeMixed(i);
  if (base == "add")
    return forFloats<2, add>(type);
  if (base == "sub")
    return forFloats<2, sub>(type);
  if (base == "mul")
    return forFloats<2, mul>(type);
  if (base == "div")
    return forFloats<2, divide>(type);
  if (base == "fma" || base == "mad")
    return forFloats<3, fused>(type);
  if (base == "neg")
    return forFloats<1, negate>(type);
  if (base == "abs")
    return forFloats<1, absolute>(type);
  if (base == "copysign")
    return forFloats<2, signFrom>(type);
  if (base == "sqrt")
    return forFloats<1, root>(type);
  if (base == "rcp")
    return forFloats<1, inverse>(type);
  if (base == "rsqrt")
    return forFloats<1, inverseRoot>(type);
  if (base == "sin")
    return forFloats<1, sine>(type);
  if (base == "cos")
    return forFloats<1, cosine>(type);
  if (base == "tanh")
    return forFloats<1, tangentH>(type);
  if (base == "ex2")
    return forFloats<1, power2>(type);
  if (base == "lg2")
    return forFloats<1, logarithm2>(type);
  if (i.op.has("xorsign") || i.operands.size() != 3)
    return nullptr;
  const bool keepsNan = i.op.has("NaN");
  if (base == "min")
    return keepsNan ? forFloats<2, extreme<true, true>>(type)
                    : forFloats<2, extreme<true, false>>(type);
  if (base == "max")
    return keepsNan ? forFloats<2, extreme<false, true>>(type)
                    : forFloats<2, extreme<false, false>>(type);
  return nullptr;
}

} // namespace pantile::ptx
