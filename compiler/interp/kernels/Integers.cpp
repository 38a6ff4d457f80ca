//===- Integers.cpp - integer arithmetic and comparisons over tiles ---------------------------===//
// Needs: Kernels.h; compiled once for each instruction set.
// Gives: handlers of BinaryOp, UnaryOp and compareInt for i1 to i64 and pointers.
// How:   two's complement with wraparound, computed in at least 32 bits. Shifts by the width or
//        more give 0 or the sign. A quotient by zero has all bits set and the remainder is the
//        dividend, as on the GPU, and the division is reported.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Set.h"
#include <type_traits>

namespace pantile::interp::PANTILE_ISA {
namespace {

/// An integer of `Signed`'s width.
template <typename Signed> struct Int {
  using Storage = std::make_unsigned_t<Signed>;
  using U = std::conditional_t<sizeof(Signed) < 4, uint32_t, Storage>;
  using S = std::make_signed_t<U>;
  static constexpr unsigned bits = sizeof(Signed) * 8;
  static U u(Storage value) { return value; }
  static S s(Storage value) { return static_cast<Signed>(value); }
  static Storage put(U value) { return static_cast<Storage>(value); }
};
/// i1: as a signed number, true is -1.
struct Truth {
  using Storage = uint8_t;
  using U = uint32_t;
  using S = int32_t;
  static constexpr unsigned bits = 1;
  static U u(Storage value) { return value; }
  static S s(Storage value) { return -static_cast<S>(value); }
  static Storage put(U value) { return value & 1; }
};

template <class T> using UOf = typename T::U;
template <class T> using SOf = typename T::S;
template <class T> using StorageOf = typename T::Storage;

/// Upper half of a product; 128 bits are used for the widest type only.
template <class T> UOf<T> mulHigh(SOf<T> a, SOf<T> b) {
  if constexpr (T::bits == 64)
    return static_cast<UOf<T>>(static_cast<__int128>(a) * b >> 64);
  else
    return static_cast<UOf<T>>(static_cast<int64_t>(a) * b >> T::bits);
}
template <class T> UOf<T> mulHigh(UOf<T> a, UOf<T> b) {
  if constexpr (T::bits == 64)
    return static_cast<UOf<T>>(static_cast<unsigned __int128>(a) * b >> 64);
  else
    return static_cast<UOf<T>>(static_cast<uint64_t>(a) * b >> T::bits);
}

template <class T, BinaryOp op>
[[gnu::always_inline]] inline UOf<T> apply(StorageOf<T> x, StorageOf<T> y) {
  UOf<T> a = T::u(x), b = T::u(y);
  SOf<T> sa = T::s(x), sb = T::s(y);
  using enum BinaryOp;
  if constexpr (op == Add)
    return a + b;
  else if constexpr (op == Sub)
    return a - b;
  else if constexpr (op == Mul)
    return a * b;
  else if constexpr (op == And)
    return a & b;
  else if constexpr (op == Or)
    return a | b;
  else if constexpr (op == Xor)
    return a ^ b;
  else if constexpr (op == Shl)
    return b < T::bits ? a << (b & (sizeof(a) * 8 - 1)) : 0;
  else if constexpr (op == ShrU)
    return b < T::bits ? a >> (b & (sizeof(a) * 8 - 1)) : 0;
  else if constexpr (op == ShrS)
    return static_cast<UOf<T>>(sa >> (b < T::bits ? b : T::bits - 1));
  else if constexpr (op == MaxS)
    return static_cast<UOf<T>>(sa > sb ? sa : sb);
  else if constexpr (op == MinS)
    return static_cast<UOf<T>>(sa < sb ? sa : sb);
  else if constexpr (op == MaxU)
    return a > b ? a : b;
  else if constexpr (op == MinU)
    return a < b ? a : b;
  else if constexpr (op == MulHiS)
    return mulHigh<T>(sa, sb);
  else
    return mulHigh<T>(a, b);
}

/// Division by a divisor that is not 0. -1 is a special case: the smallest number has no negative.
template <class T, BinaryOp op> UOf<T> divide(StorageOf<T> x, StorageOf<T> y) {
  UOf<T> a = T::u(x), b = T::u(y);
  SOf<T> sa = T::s(x), sb = T::s(y);
  using enum BinaryOp;
  if constexpr (op == DivU)
    return a / b;
  else if constexpr (op == RemU)
    return a % b;
  else if constexpr (op == CeilDivU)
    return a / b + (a % b != 0);
  else if constexpr (op == RemS)
    return sb == -1 ? 0 : static_cast<UOf<T>>(sa % sb);
  if (sb == -1)
    return 0 - static_cast<UOf<T>>(sa);
  SOf<T> quotient = sa / sb, remainder = sa % sb;
  if constexpr (op == FloorDivS)
    quotient -= remainder != 0 && (remainder < 0) != (sb < 0);
  else if constexpr (op == CeilDivS)
    quotient += remainder != 0 && (remainder < 0) == (sb < 0);
  return static_cast<UOf<T>>(quotient);
}

template <class T, BinaryOp op> void runBinary(Frame &frame, const Instr &instr) {
  auto *dst = frame.at<StorageOf<T>>(instr.dst);
  const auto *a = frame.at<StorageOf<T>>(instr.a), *b = frame.at<StorageOf<T>>(instr.b);
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i)
    dst[i] = T::put(apply<T, op>(a[i], b[i]));
}

template <class T, BinaryOp op> void runDivision(Frame &frame, const Instr &instr) {
  constexpr bool remainder = op == BinaryOp::RemS || op == BinaryOp::RemU;
  auto *dst = frame.at<StorageOf<T>>(instr.dst);
  const auto *a = frame.at<StorageOf<T>>(instr.a), *b = frame.at<StorageOf<T>>(instr.b);
  bool zero = false;
  for (uint32_t i = 0; i < instr.count; ++i) {
    zero |= b[i] == 0;
    dst[i] = b[i] ? T::put(divide<T, op>(a[i], b[i])) : remainder ? a[i] : T::put(~UOf<T>(0));
  }
  if (zero)
    divisionByZero(frame, instr);
}

template <class T> Handler binaryOf(BinaryOp op) {
  using enum BinaryOp;
  switch (op) {
#define PANTILE_CASE(name, run)                                                                    \
  case name:                                                                                       \
    return run<T, name>;
    PANTILE_CASE(Add, runBinary)
    PANTILE_CASE(Sub, runBinary)
    PANTILE_CASE(Mul, runBinary)
    PANTILE_CASE(DivS, runDivision)
    PANTILE_CASE(DivU, runDivision)
    PANTILE_CASE(RemS, runDivision)
    PANTILE_CASE(RemU, runDivision)
    PANTILE_CASE(FloorDivS, runDivision)
    PANTILE_CASE(CeilDivS, runDivision)
    PANTILE_CASE(CeilDivU, runDivision)
    PANTILE_CASE(And, runBinary)
    PANTILE_CASE(Or, runBinary)
    PANTILE_CASE(Xor, runBinary)
    PANTILE_CASE(Shl, runBinary)
    PANTILE_CASE(ShrS, runBinary)
    PANTILE_CASE(ShrU, runBinary)
    PANTILE_CASE(MaxS, runBinary)
    PANTILE_CASE(MaxU, runBinary)
    PANTILE_CASE(MinS, runBinary)
    PANTILE_CASE(MinU, runBinary)
    PANTILE_CASE(MulHiS, runBinary)
    PANTILE_CASE(MulHiU, runBinary)
#undef PANTILE_CASE
  default:
    return nullptr;
  }
}

template <class T, UnaryOp op> void runUnary(Frame &frame, const Instr &instr) {
  using U = UOf<T>;
  constexpr unsigned spare = sizeof(U) * 8 - T::bits;
  auto *dst = frame.at<StorageOf<T>>(instr.dst);
  const auto *a = frame.at<StorageOf<T>>(instr.a);
  auto leading = [](U v) {
    return sizeof(U) == 8 ? __builtin_clzll(v) : __builtin_clz(static_cast<uint32_t>(v));
  };
  for (uint32_t i = 0; i < instr.count; ++i) {
    U value = T::u(a[i]);
    if constexpr (op == UnaryOp::AbsI)
      value = T::s(a[i]) < 0 ? 0 - static_cast<U>(T::s(a[i])) : value;
    else if constexpr (op == UnaryOp::CountLeadingZeros)
      value = value ? static_cast<U>(leading(value)) - spare : T::bits;
    else if constexpr (op == UnaryOp::CountTrailingZeros)
      value = value ? static_cast<U>(__builtin_ctzll(value)) : T::bits;
    else
      value = static_cast<U>(__builtin_popcountll(value));
    dst[i] = T::put(value);
  }
}

template <class T> Handler unaryOf(UnaryOp op) {
  switch (op) {
  case UnaryOp::AbsI:
    return runUnary<T, UnaryOp::AbsI>;
  case UnaryOp::CountLeadingZeros:
    return runUnary<T, UnaryOp::CountLeadingZeros>;
  case UnaryOp::CountTrailingZeros:
    return runUnary<T, UnaryOp::CountTrailingZeros>;
  case UnaryOp::PopCount:
    return runUnary<T, UnaryOp::PopCount>;
  default:
    return nullptr;
  }
}

template <class T, unsigned predicate> void runCompare(Frame &frame, const Instr &instr) {
  auto *dst = frame.at<uint8_t>(instr.dst);
  const auto *x = frame.at<StorageOf<T>>(instr.a), *y = frame.at<StorageOf<T>>(instr.b);
#pragma GCC ivdep
  for (uint32_t i = 0; i < instr.count; ++i) {
    UOf<T> a = T::u(x[i]), b = T::u(y[i]);
    SOf<T> sa = T::s(x[i]), sb = T::s(y[i]);
    bool table[] = {a == b, a != b, sa<sb, sa <= sb, sa> sb, sa >= sb, a<b, a <= b, a> b, a >= b};
    dst[i] = table[predicate];
  }
}

template <class T> Handler compareOf(unsigned predicate) {
  constexpr Handler table[] = {
      runCompare<T, 0>, runCompare<T, 1>, runCompare<T, 2>, runCompare<T, 3>, runCompare<T, 4>,
      runCompare<T, 5>, runCompare<T, 6>, runCompare<T, 7>, runCompare<T, 8>, runCompare<T, 9>};
  return predicate < std::size(table) ? table[predicate] : nullptr;
}

/// Calls `make` with the tag of an integer type.
template <typename Make> Handler forInt(Elem elem, Make make) {
  switch (elem) {
  case Elem::I1:
    return make(Truth());
  case Elem::I8:
    return make(Int<int8_t>());
  case Elem::I16:
    return make(Int<int16_t>());
  case Elem::I32:
    return make(Int<int32_t>());
  case Elem::I64:
  case Elem::Ptr:
    return make(Int<int64_t>());
  default:
    return nullptr;
  }
}

} // namespace

Handler intBinary(BinaryOp op, Elem elem) {
  return forInt(elem, [&](auto tag) { return binaryOf<decltype(tag)>(op); });
}
Handler intUnary(UnaryOp op, Elem elem) {
  return forInt(elem, [&](auto tag) { return unaryOf<decltype(tag)>(op); });
}
Handler compareInt(unsigned predicate, Elem elem) {
  return forInt(elem, [&](auto tag) { return compareOf<decltype(tag)>(predicate); });
}

} // namespace pantile::interp::PANTILE_ISA
