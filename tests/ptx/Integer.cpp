//===- Integer.cpp - integers, bits, moves and selections ---------------------------------===//
// Needs: Values.h.
// Gives: decodeInteger.
// How:   arithmetic wraps: it is done in unsigned types. Predicates are registers of 0 and 1.
//===------------------------------------------------------------------------------------------===//
#include "Values.h"
#include <limits>

namespace pantile::ptx {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

template <class T> constexpr int bits = sizeof(T) * 8;

constexpr auto add = []<class T>(T a, T b) { return T(Word(a) + Word(b)); };
constexpr auto sub = []<class T>(T a, T b) { return T(Word(a) - Word(b)); };
constexpr auto mulLow = []<class T>(T a, T b) { return T(Word(a) * Word(b)); };
constexpr auto mulHigh = []<class T>(T a, T b) { return T((Wide<T>(a) * Wide<T>(b)) >> bits<T>); };
constexpr auto madLow = []<class T>(T a, T b, T c) { return T(Word(a) * Word(b) + Word(c)); };
constexpr auto madHigh = []<class T>(T a, T b, T c) {
  return T(Word((Wide<T>(a) * Wide<T>(b)) >> bits<T>) + Word(c));
};
/// Division by 0 gives all ones, as machine code does.
constexpr auto divide = []<class T>(T a, T b) {
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return T(0 - Word(a));
  return T(a / b);
};
constexpr auto remainder = []<class T>(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return T(0);
  return T(a % b);
};
constexpr auto minimum = []<class T>(T a, T b) { return a < b ? a : b; };
constexpr auto maximum = []<class T>(T a, T b) { return a > b ? a : b; };
/// `.relu`: at least 0.
template <auto fn>
constexpr auto notNegative = []<class T>(T a, T b) {
  const T value = fn(a, b);
  return value < 0 ? T(0) : value;
};
constexpr auto bitAnd = []<class T>(T a, T b) { return T(a & b); };
constexpr auto bitOr = []<class T>(T a, T b) { return T(a | b); };
constexpr auto bitXor = []<class T>(T a, T b) { return T(a ^ b); };
constexpr auto bitNot = []<class T>(T a) { return T(~a); };
constexpr auto logicalNot = [](uint8_t a) { return uint8_t(!a); };
constexpr auto isZero = []<class T>(T a) { return T(a == 0); };
constexpr auto negate = []<class T>(T a) { return T(0 - Word(a)); };
constexpr auto absolute = []<class T>(T a) { return T(a < 0 ? 0 - Word(a) : Word(a)); };
constexpr auto absoluteDifference = []<class T>(T a, T b, T c) {
  return T(Word(c) + (a < b ? Word(b) - Word(a) : Word(a) - Word(b)));
};
constexpr auto same = []<class T>(T a) { return a; };

template <class T> void shift(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  const bool left = i.op.base == "shl";
  forLanes(w.active, [&](int l) {
    const uint32_t count = std::min<uint32_t>(b[l], bits<T>);
    const T value = as<T>(a[l]);
    T result;
    if (count == bits<T>)
      result = !left && std::is_signed_v<T> && value < 0 ? T(-1) : T(0);
    else
      result = left ? T(Word(value) << count) : T(value >> count);
    d[l] = word<T>(result);
  });
}

void funnelShift(Warp &w, const Instruction &i) {
  const bool left = i.op.has("l"), clamps = i.op.has("clamp");
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    const uint32_t given = c[l], n = clamps ? std::min<uint32_t>(given, 32) : given & 31;
    const Word both = b[l] << 32 | uint32_t(a[l]);
    d[l] = uint32_t(left ? (both << n) >> 32 : both >> n);
  });
}

template <class T, class R> void wideProduct(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  const Word *c = i.operands.size() > 3 ? w.reg(i[3]) : nullptr;
  forLanes(w.active, [&](int l) {
    d[l] = word<R>(R(Word(R(as<T>(a[l]))) * Word(R(as<T>(b[l]))) + (c ? c[l] : 0)));
  });
}

/// add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi ...: 32 bits or 64 and a carry.
template <class T> void withCarry(Warp &w, const Instruction &i) {
  using Double = unsigned __int128;
  const std::string &base = i.op.base;
  const bool isMad = base.starts_with("mad"), isSub = base.starts_with("sub"),
             takes = base.back() == 'c' && base != "sub", gives = i.op.has("cc");
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = isMad ? w.reg(i[3]) : nullptr;
  Lanes carry = w.carry;
  forLanes(w.active, [&](int l) {
    const Double in = takes ? w.carry >> l & 1 : 0;
    Double x = as<T>(a[l]), y = as<T>(b[l]);
    if (isMad) {
      const Double product = x * y;
      x = i.op.has("hi") ? T(product >> bits<T>) : T(product);
      y = as<T>(c[l]);
    }
    const Double sum = isSub ? x - y - in : x + y + in;
    d[l] = T(sum);
    carry = (carry & ~(1u << l)) | Lanes(sum >> bits<T> & 1) << l;
  });
  if (gives)
    w.carry = carry;
}

template <class T> void extractField(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    const int start = b[l] & 255, length = c[l] & 255;
    Unsigned<T> result = 0;
    const auto value = as<Unsigned<T>>(a[l]);
    const int last = std::min(start + length - 1, bits<T> - 1);
    const bool sign = std::is_signed_v<T> && length && (value >> last & 1);
    for (int bit = 0; bit < bits<T>; ++bit) {
      const bool inside = bit < length && start + bit < bits<T>;
      result |= Unsigned<T>(inside ? value >> (start + bit) & 1 : sign) << bit;
    }
    d[l] = result;
  });
}

template <class T> void insertField(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]), *e = w.reg(i[4]);
  forLanes(w.active, [&](int l) {
    const int start = c[l] & 255, length = e[l] & 255;
    T result = as<T>(b[l]);
    for (int bit = 0; bit < length && start + bit < bits<T>; ++bit) {
      const T one = T(1) << (start + bit);
      result = (result & ~one) | (as<T>(a[l]) >> bit & 1 ? one : 0);
    }
    d[l] = result;
  });
}

constexpr auto leadingZeros = []<class T>(T a) { return std::countl_zero(Unsigned<T>(a)); };
constexpr auto countOnes = []<class T>(T a) { return std::popcount(Unsigned<T>(a)); };
constexpr auto highestBit = []<class T>(T a) {
  const auto value = Unsigned<T>(a < 0 ? ~a : a);
  return value ? bits<T> - 1 - std::countl_zero(value) : -1;
};
constexpr auto distanceToTop = []<class T>(T a) {
  const auto value = Unsigned<T>(a < 0 ? ~a : a);
  return value ? std::countl_zero(value) : -1;
};
constexpr auto reverse = []<class T>(T a) {
  T result = 0;
  for (int bit = 0; bit < bits<T>; ++bit)
    result |= T(a >> bit & 1) << (bits<T> - 1 - bit);
  return result;
};

void permute(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    const Word bytes = b[l] << 32 | uint32_t(a[l]);
    uint32_t result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const int selector = c[l] >> (4 * byte) & 15;
      uint8_t value = bytes >> (8 * (selector & 7));
      if (selector & 8)
        value = value & 0x80 ? 0xff : 0;
      result |= uint32_t(value) << (8 * byte);
    }
    d[l] = result;
  });
}

void logic3(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]), *table = w.reg(i[4]);
  forLanes(w.active, [&](int l) {
    uint32_t result = 0;
    for (int row = 0; row < 8; ++row)
      if (table[l] >> row & 1)
        result |= (row & 4 ? a[l] : ~a[l]) & (row & 2 ? b[l] : ~b[l]) & (row & 1 ? c[l] : ~c[l]);
    d[l] = result;
  });
}

template <class A, class B> void dot4(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *c = w.reg(i[3]);
  forLanes(w.active, [&](int l) {
    uint32_t sum = c[l];
    for (int byte = 0; byte < 32; byte += 8)
      sum += int(A(a[l] >> byte)) * int(B(b[l] >> byte));
    d[l] = sum;
  });
}

template <class T> void saturating(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) {
    const int64_t x = as<T>(a[l]), y = as<T>(b[l]), sum = i.op.base == "add" ? x + y : x - y;
    using Limits = std::numeric_limits<T>;
    d[l] = word<T>(T(std::clamp<int64_t>(sum, Limits::min(), Limits::max())));
  });
}

/// Two integers of 16 bits in a word.
template <class T, auto fn> void packed(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]);
  forLanes(w.active, [&](int l) {
    auto half = [&](int shift) { return word<T>(fn(as<T>(a[l] >> shift), as<T>(b[l] >> shift))); };
    d[l] = half(16) << 16 | half(0);
  });
}

//===- moves --------------------------------------------------------------------------------===//

void select(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]), *b = w.reg(i[2]), *p = w.reg(i[3]);
  const bool inverted = i[3].inverted;
  forLanes(w.active, [&](int l) { d[l] = bool(p[l] & 1) != inverted ? a[l] : b[l]; });
}

void pack(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const int width = i.number[0];
  forLanes(w.active, [&](int l) {
    Word result = 0;
    for (size_t part = 0; part < i[1].parts.size(); ++part)
      result |= (w.reg(i[1].parts[part])[l] & ((Word(1) << width) - 1)) << (part * width);
    d[l] = result;
  });
}

void unpack(Warp &w, const Instruction &i) {
  const Word *a = w.reg(i[1]);
  const int width = i.number[0];
  forLanes(w.active, [&](int l) {
    const Word value = a[l];
    for (size_t part = 0; part < i[0].parts.size(); ++part)
      if (i[0].parts[part].kind != Operand::Discard)
        w.reg(i[0].parts[part])[l] = value >> (part * width) & ((Word(1) << width) - 1);
  });
}

void readClock(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  forLanes(w.active, [&](int l) { d[l] = w.steps; });
}

/// Between generic addresses and those of a window.
void convertAddress(Warp &w, const Instruction &i) {
  const bool toSpace = i.op.has("to");
  const Word window = i.op.has("shared")  ? sharedWindow
                      : i.op.has("local") ? localWindow
                      : i.op.has("param") ? paramWindow
                                          : 0;
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  forLanes(w.active, [&](int l) {
    d[l] = !window ? a[l] : toSpace ? a[l] & ~windowMask : a[l] | window;
  });
}

Handler decodeMove(Instruction &i) {
  const int bits = bitsOf(i.op.last());
  if (i[1].kind == Operand::Vector) {
    i.number[0] = bits / int(i[1].parts.size());
    return pack;
  }
  if (i[0].kind == Operand::Vector) {
    i.number[0] = bits / int(i[0].parts.size());
    return unpack;
  }
  if (i[1].name.starts_with("%clock") || i[1].name.starts_with("%globaltimer"))
    return readClock;
  if (bits == 16)
    return unary<uint16_t, uint16_t, same>;
  if (bits == 32)
    return unary<uint32_t, uint32_t, same>;
  return unary<Word, Word, same>;
}

#define PANTILE_UNARY(FN) [&]<class T>() -> Handler { return unary<T, T, FN>; }
#define PANTILE_BINARY(FN) [&]<class T>() -> Handler { return binary<T, T, FN>; }
#define PANTILE_TERNARY(FN) [&]<class T>() -> Handler { return ternary<T, T, FN>; }
#define PANTILE_TEMPLATE(FN) [&]<class T>() -> Handler { return FN<T>; }

Handler decodeProduct(Instruction &i, std::string_view type) {
  const bool isMad = i.op.base == "mad";
  if (i.op.has("wide")) {
    if (type == "s32")
      return wideProduct<int32_t, int64_t>;
    if (type == "u32")
      return wideProduct<uint32_t, uint64_t>;
    if (type == "s16")
      return wideProduct<int16_t, int32_t>;
    return type == "u16" ? Handler(wideProduct<uint16_t, uint32_t>) : nullptr;
  }
  if (i.op.has("hi"))
    return isMad ? forInteger(type, PANTILE_TERNARY(madHigh))
                 : forInteger(type, PANTILE_BINARY(mulHigh));
  if (!i.op.has("lo"))
    return nullptr;
  return isMad ? forInteger(type, PANTILE_TERNARY(madLow))
               : forInteger(type, PANTILE_BINARY(mulLow));
}

Handler decodeBits(Instruction &i, std::string_view type) {
  const std::string &base = i.op.base;
  if (type == "pred") {
    if (base == "not")
      return unary<uint8_t, uint8_t, logicalNot>;
    type = "u8";
  }
  if (base == "and")
    return forInteger(type, PANTILE_BINARY(bitAnd));
  if (base == "or")
    return forInteger(type, PANTILE_BINARY(bitOr));
  if (base == "xor")
    return forInteger(type, PANTILE_BINARY(bitXor));
  if (base == "not")
    return forInteger(type, PANTILE_UNARY(bitNot));
  if (base == "cnot")
    return forInteger(type, PANTILE_UNARY(isZero));
  if (base == "shl" || base == "shr")
    return forInteger(type, PANTILE_TEMPLATE(shift));
  if (base == "bfe")
    return forInteger(type, PANTILE_TEMPLATE(extractField));
  if (base == "bfi")
    return type == "b64" ? insertField<uint64_t> : insertField<uint32_t>;
  if (base == "clz")
    return forInteger(type, [&]<class T>() -> Handler { return unary<int32_t, T, leadingZeros>; });
  if (base == "popc")
    return forInteger(type, [&]<class T>() -> Handler { return unary<int32_t, T, countOnes>; });
  if (base == "bfind" && i.op.has("shiftamt"))
    return forInteger(type, [&]<class T>() -> Handler { return unary<int32_t, T, distanceToTop>; });
  if (base == "bfind")
    return forInteger(type, [&]<class T>() -> Handler { return unary<int32_t, T, highestBit>; });
  if (base == "brev")
    return type == "b64" ? unary<uint64_t, uint64_t, reverse> : unary<uint32_t, uint32_t, reverse>;
  return nullptr;
}

template <auto fn> Handler decodeExtreme(const Opcode &op, std::string_view type) {
  if (op.has("relu"))
    return type == "s32"     ? binary<int32_t, int32_t, notNegative<fn>>
           : type == "s16x2" ? Handler(packed<int16_t, notNegative<fn>>)
                             : nullptr;
  if (type == "s16x2")
    return packed<int16_t, fn>;
  if (type == "u16x2")
    return packed<uint16_t, fn>;
  return forInteger(type, PANTILE_BINARY(fn));
}

} // namespace

int bitsOf(std::string_view type) {
  if (type == "pred")
    return 1;
  const size_t digit = type.find_first_of("0123456789");
  if (digit == type.npos)
    return 0;
  const int bits = std::stoi(std::string(type.substr(digit)));
  return type.ends_with("x2") ? 2 * bits : bits;
}

Handler decodeInteger(Instruction &i) {
  const std::string &base = i.op.base;
  const std::string_view type = i.op.last();
  if (base == "mov")
    return decodeMove(i);
  if (base == "cvta")
    return convertAddress;
  if (base == "selp")
    return select;
  if (base == "shf")
    return funnelShift;
  if (base == "prmt")
    return i.op.parts.size() == 1 ? permute : nullptr;
  if (base == "lop3")
    return logic3;
  if (base == "dp4a" && i.op.parts.size() == 2) {
    const bool a = i.op.parts[0] == "s32", b = i.op.parts[1] == "s32";
    return a ? (b ? dot4<int8_t, int8_t> : dot4<int8_t, uint8_t>)
             : (b ? dot4<uint8_t, int8_t> : dot4<uint8_t, uint8_t>);
  }
  if (i.op.has("cc") || base == "addc" || base == "subc" || base == "madc")
    return bitsOf(type) == 64 ? withCarry<uint64_t> : withCarry<uint32_t>;
  if (Handler handler = decodeBits(i, type))
    return handler;
  if (i.op.has("sat"))
    return type == "s32" ? saturating<int32_t> : nullptr;
  if (base == "mul" || base == "mad")
    return decodeProduct(i, type);
  if (base == "add" && (type == "s16x2" || type == "u16x2"))
    return packed<uint16_t, add>;
  if (base == "add")
    return forInteger(type, PANTILE_BINARY(add));
  if (base == "sub")
    return forInteger(type, PANTILE_BINARY(sub));
  if (base == "div")
    return forInteger(type, PANTILE_BINARY(divide));
  if (base == "rem")
    return forInteger(type, PANTILE_BINARY(remainder));
  if (base == "min")
    return decodeExtreme<minimum>(i.op, type);
  if (base == "max")
    return decodeExtreme<maximum>(i.op, type);
  if (base == "neg")
    return forInteger(type, PANTILE_UNARY(negate));
  if (base == "abs")
    return forInteger(type, PANTILE_UNARY(absolute));
  if (base == "sad")
    return forInteger(type, PANTILE_TERNARY(absoluteDifference));
  return nullptr;
}

} // namespace pantile::ptx
