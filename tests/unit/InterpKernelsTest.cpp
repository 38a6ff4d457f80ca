// The whole-tile loops of each instruction set: conversions of every code, arithmetic at its edges.
#include "interp/Code.h"
#include "interp/kernels/Narrow.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace pantile::interp;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Runs `handler` on tiles; the result has as many elements as `a`.
template <typename D, typename A, typename B = A>
std::vector<D> run(Handler handler, const std::vector<A> &a, const std::vector<B> &b = {},
                   const std::vector<B> &c = {}) {
  EXPECT_NE(handler, nullptr);
  std::vector<std::byte> memory(a.size() * 4 * 8 + 256);
  uint32_t stride = static_cast<uint32_t>((a.size() * 8 + 63) / 64 * 64);
  Frame frame;
  Code code;
  frame.base = memory.data();
  frame.code = &code;
  Instr instr;
  instr.count = static_cast<uint32_t>(a.size());
  instr.dst = 0, instr.a = stride, instr.b = 2 * stride, instr.c = 3 * stride;
  std::copy(a.begin(), a.end(), frame.at<A>(instr.a));
  std::copy(b.begin(), b.end(), frame.at<B>(instr.b));
  std::copy(c.begin(), c.end(), frame.at<B>(instr.c));
  handler(frame, instr);
  D *dst = frame.at<D>(instr.dst);
  return {dst, dst + a.size()};
}

/// The value of a code by the definition of the format.
double decode(int exponentBits, int fractionBits, uint32_t code) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = static_cast<int>(code >> fractionBits) & ((1 << exponentBits) - 1);
  double fraction = code & ((1u << fractionBits) - 1);
  double sign = code >> (exponentBits + fractionBits) & 1 ? -1 : 1;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
}

struct Format {
  Elem elem;
  int exponentBits, fractionBits;
  uint32_t top; ///< code of the largest finite value
  bool saturates;
  unsigned bits() const { return 1 + exponentBits + fractionBits; }
  double value(uint32_t code) const { return decode(exponentBits, fractionBits, code); }
};

const Format formats[] = {{Elem::F8E4M3, 4, 3, 0x7e, true},
                          {Elem::F8E5M2, 5, 2, 0x7b, true},
                          {Elem::F16, 5, 10, 0x7bff, false},
                          {Elem::BF16, 8, 7, 0x7f7f, false}};

std::vector<uint8_t> codesOf8(const std::vector<uint32_t> &codes) {
  return {codes.begin(), codes.end()};
}
std::vector<uint16_t> codesOf16(const std::vector<uint32_t> &codes) {
  return {codes.begin(), codes.end()};
}

std::vector<float> widenAll(const Kernels &set, const Format &format,
                            const std::vector<uint32_t> &codes) {
  Handler handler = set.convert(ConvertOp::Float, format.elem, Elem::F32);
  return format.bits() == 8 ? run<float>(handler, codesOf8(codes))
                            : run<float>(handler, codesOf16(codes));
}
template <typename W>
std::vector<uint32_t> narrowAll(const Kernels &set, const Format &format,
                                const std::vector<W> &values) {
  Handler handler =
      set.convert(ConvertOp::Float, sizeof(W) == 4 ? Elem::F32 : Elem::F64, format.elem);
  if (format.bits() == 8) {
    auto codes = run<uint8_t>(handler, values);
    return {codes.begin(), codes.end()};
  }
  auto codes = run<uint16_t>(handler, values);
  return {codes.begin(), codes.end()};
}

TEST(InterpKernels, EveryCodeWidensToItsValueAndComesBack) {
  for (const Kernels *set : allKernels())
    for (const Format &format : formats) {
      std::vector<uint32_t> codes;
      uint32_t sign = 1u << (format.bits() - 1);
      for (uint32_t code = 0; code <= format.top; ++code) {
        codes.push_back(code);
        codes.push_back(code | sign);
      }
      std::vector<float> values = widenAll(*set, format, codes);
      for (size_t i = 0; i < codes.size(); ++i)
        ASSERT_EQ(values[i], format.value(codes[i])) << set->name << " " << codes[i];
      EXPECT_EQ(narrowAll(*set, format, values), codes) << set->name;
    }
}

TEST(InterpKernels, NarrowingRoundsToNearestEven) {
  for (const Kernels *set : allKernels())
    for (const Format &format : formats) {
      std::vector<double> values;
      std::vector<uint32_t> want;
      // Between each two neighbours: below, at and above the middle.
      for (uint32_t code = 0; code < format.top; ++code) {
        double low = format.value(code), high = format.value(code + 1), middle = (low + high) / 2;
        uint32_t even = code & 1 ? code + 1 : code;
        for (auto [value, rounded] :
             {std::pair(std::nextafter(middle, 0.), code), std::pair(middle, even),
              std::pair(std::nextafter(middle, 1e300), code + 1)}) {
          values.push_back(value);
          want.push_back(rounded);
        }
      }
      EXPECT_EQ(narrowAll(*set, format, values), want) << set->name << " from fp64";
      std::vector<float> middles;
      std::vector<uint32_t> wantMiddles;
      for (size_t i = 1; i < values.size(); i += 3) {
        middles.push_back(static_cast<float>(values[i]));
        wantMiddles.push_back(want[i]);
      }
      EXPECT_EQ(narrowAll(*set, format, middles), wantMiddles) << set->name << " from fp32";
    }
}

TEST(InterpKernels, NarrowingOverflowsOrSaturates) {
  for (const Kernels *set : allKernels())
    for (const Format &format : formats) {
      double top = format.value(format.top), next = format.value(format.top + 1);
      uint32_t sign = 1u << (format.bits() - 1);
      uint32_t over = format.saturates ? format.top : format.top + 1;
      std::vector<double> values = {
          top, std::nextafter((top + next) / 2, 0.), next, -next, 1e300, -1e300, inf, -inf};
      EXPECT_EQ(narrowAll(*set, format, values),
                (std::vector<uint32_t>{format.top, format.top, over, over | sign, over, over | sign,
                                       over, over | sign}))
          << set->name << " " << int(format.elem);
      EXPECT_TRUE(
          std::isnan(widenAll(*set, format, narrowAll(*set, format, std::vector<float>{nan}))[0]));
    }
}

TEST(InterpKernels, HalfArithmeticRoundsEachResult) {
  auto half = [](float v) { return toHalf(v).bits; };
  for (const Kernels *set : allKernels()) {
    std::vector<uint16_t> a = {half(2048), half(1), half(65504), half(0.1f), half(6e-8f)};
    std::vector<uint16_t> b = {half(1), half(3), half(65504), half(0.2f), half(0.5f)};
    auto sum = run<uint16_t>(set->binary(BinaryOp::AddF, Elem::F16), a, b);
    EXPECT_EQ(sum[0], half(2048)); // 2049 lies between two halves
    EXPECT_EQ(sum[2], 0x7c00);
    auto quotient = run<uint16_t>(set->binary(BinaryOp::DivF, Elem::F16), a, b);
    EXPECT_EQ(quotient[1], half(1.f / 3));
    auto product = run<uint16_t>(set->binary(BinaryOp::MulF, Elem::F16), a, b);
    EXPECT_EQ(product[4], 0); // half of the smallest subnormal is a tie, and rounds to even
    auto fused = run<uint16_t>(set->fma(Elem::F16), a, b, b);
    EXPECT_EQ(fused[1], half(6));
  }
}

TEST(InterpKernels, LongTilesAndEveryTail) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-100, 100);
  for (const Kernels *set : allKernels())
    for (size_t count : {1, 2, 7, 8, 9, 255, 256, 257, 1000}) {
      std::vector<float> a(count), b(count);
      std::vector<uint16_t> ha(count), hb(count);
      for (size_t i = 0; i < count; ++i) {
        a[i] = values(random), b[i] = values(random);
        ha[i] = toHalf(a[i]).bits, hb[i] = toHalf(b[i]).bits;
      }
      auto sum = run<float>(set->binary(BinaryOp::SubF, Elem::F32), a, b);
      auto halfSum = run<uint16_t>(set->binary(BinaryOp::SubF, Elem::F16), ha, hb);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(sum[i], a[i] - b[i]);
        ASSERT_EQ(halfSum[i], toHalf(toFloat(Half{ha[i]}) - toFloat(Half{hb[i]})).bits);
      }
    }
}

TEST(InterpKernels, MaximumAndMaxnumDifferAtNan) {
  std::vector<float> a = {1, nan, 3, nan}, b = {2, 5, nan, nan};
  for (const Kernels *set : allKernels()) {
    auto number = run<float>(set->binary(BinaryOp::MaxNumF, Elem::F32), a, b);
    EXPECT_EQ(number[0], 2);
    EXPECT_EQ(number[1], 5);
    EXPECT_EQ(number[2], 3);
    EXPECT_TRUE(std::isnan(number[3]));
    auto propagating = run<float>(set->binary(BinaryOp::MinimumF, Elem::F32), a, b);
    EXPECT_EQ(propagating[0], 1);
    for (int i = 1; i < 4; ++i)
      EXPECT_TRUE(std::isnan(propagating[i]));
  }
}

TEST(InterpKernels, FloatComparisonsAtNan) {
  std::vector<float> a = {1, 2, 2, nan, 1}, b = {2, 2, 1, 1, nan};
  // Predicate numbers of arith: 1 oeq, 4 olt, 6 one, 7 ord, 8 ueq, 11 ult, 13 une, 14 uno.
  const std::pair<unsigned, std::vector<uint8_t>> cases[] = {
      {0, {0, 0, 0, 0, 0}},  {1, {0, 1, 0, 0, 0}},  {2, {0, 0, 1, 0, 0}},  {3, {0, 1, 1, 0, 0}},
      {4, {1, 0, 0, 0, 0}},  {5, {1, 1, 0, 0, 0}},  {6, {1, 0, 1, 0, 0}},  {7, {1, 1, 1, 0, 0}},
      {8, {0, 1, 0, 1, 1}},  {9, {0, 0, 1, 1, 1}},  {10, {0, 1, 1, 1, 1}}, {11, {1, 0, 0, 1, 1}},
      {12, {1, 1, 0, 1, 1}}, {13, {1, 0, 1, 1, 1}}, {14, {0, 0, 0, 1, 1}}, {15, {1, 1, 1, 1, 1}}};
  for (const Kernels *set : allKernels())
    for (const auto &[predicate, want] : cases)
      EXPECT_EQ(run<uint8_t>(set->compareFloat(predicate, Elem::F32), a, b), want)
          << set->name << " " << predicate;
}

TEST(InterpKernels, IntegersWrapAndShiftsAreDefined) {
  for (const Kernels *set : allKernels()) {
    std::vector<int8_t> a = {127, -128, -128, 100}, b = {1, 1, -1, 3};
    EXPECT_EQ((run<int8_t>(set->binary(BinaryOp::Add, Elem::I8), a, b)),
              (std::vector<int8_t>{-128, -127, 127, 103}));
    EXPECT_EQ((run<int8_t>(set->binary(BinaryOp::Mul, Elem::I8), a, b)),
              (std::vector<int8_t>{127, -128, -128, 44}));
    EXPECT_EQ((run<int8_t>(set->binary(BinaryOp::DivS, Elem::I8), a, b)),
              (std::vector<int8_t>{127, -128, -128, 33}));
    EXPECT_EQ((run<int8_t>(set->binary(BinaryOp::RemS, Elem::I8), a, b)),
              (std::vector<int8_t>{0, 0, 0, 1}));
    std::vector<int32_t> x = {-7, 7, -7, 7}, y = {2, -2, -2, 2};
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::DivS, Elem::I32), x, y)),
              (std::vector<int32_t>{-3, -3, 3, 3}));
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::FloorDivS, Elem::I32), x, y)),
              (std::vector<int32_t>{-4, -4, 3, 3}));
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::CeilDivS, Elem::I32), x, y)),
              (std::vector<int32_t>{-3, -3, 4, 4}));
    std::vector<int32_t> v = {-5, 5, -5, 1}, by = {1, 31, 32, 40};
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::ShrS, Elem::I32), v, by)),
              (std::vector<int32_t>{-3, 0, -1, 0}));
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::Shl, Elem::I32), v, by)),
              (std::vector<int32_t>{-10, INT32_MIN, 0, 0}));
    EXPECT_EQ(
        (run<uint32_t>(set->binary(BinaryOp::MulHiU, Elem::I32), std::vector<uint32_t>{0xffffffff},
                       std::vector<uint32_t>{0xffffffff})[0]),
        0xfffffffeu);
    EXPECT_EQ((run<int64_t>(set->binary(BinaryOp::MulHiS, Elem::I64),
                            std::vector<int64_t>{INT64_MIN}, std::vector<int64_t>{2})[0]),
              -1);
    // i1 adds without carry; as a signed number true is -1.
    std::vector<uint8_t> t = {0, 1, 1}, u = {1, 1, 0};
    EXPECT_EQ(run<uint8_t>(set->binary(BinaryOp::Add, Elem::I1), t, u),
              (std::vector<uint8_t>{1, 0, 1}));
    EXPECT_EQ(run<uint8_t>(set->compareInt(2, Elem::I1), t, u), (std::vector<uint8_t>{0, 0, 1}));
    EXPECT_EQ(run<int32_t>(set->convert(ConvertOp::SignedInt, Elem::I1, Elem::I32), t),
              (std::vector<int32_t>{0, -1, -1}));
    EXPECT_EQ(run<int32_t>(set->convert(ConvertOp::UnsignedInt, Elem::I1, Elem::I32), t),
              (std::vector<int32_t>{0, 1, 1}));
  }
}

TEST(InterpKernels, DivisionByZeroGivesAllOnesAndTheDividend) {
  for (const Kernels *set : allKernels()) {
    std::vector<int32_t> a = {7, -7}, b = {0, 2};
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::DivU, Elem::I32), a, b)),
              (std::vector<int32_t>{-1, 0x7ffffffc}));
    EXPECT_EQ((run<int32_t>(set->binary(BinaryOp::RemS, Elem::I32), a, b)),
              (std::vector<int32_t>{7, -1}));
  }
}

TEST(InterpKernels, FloatToIntegerTruncatesAndSaturates) {
  std::vector<float> values = {1.9f, -1.9f, 3e9f, -3e9f,        5e9f,
                               inf,  -inf,  nan,  2147483648.f, -2147483648.f};
  for (const Kernels *set : allKernels()) {
    EXPECT_EQ(run<int32_t>(set->convert(ConvertOp::FloatToSigned, Elem::F32, Elem::I32), values),
              (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX, INT32_MIN, 0,
                                    INT32_MAX, INT32_MIN}));
    EXPECT_EQ(run<uint32_t>(set->convert(ConvertOp::FloatToUnsigned, Elem::F32, Elem::I32), values),
              (std::vector<uint32_t>{1, 0, 3000000000u, 0, UINT32_MAX, UINT32_MAX, 0, 0,
                                     2147483648u, 0}));
    EXPECT_EQ((run<int64_t>(set->convert(ConvertOp::FloatToSigned, Elem::F64, Elem::I64),
                            std::vector<double>{1e18, 1e19, -1e19, nan})),
              (std::vector<int64_t>{1000000000000000000, INT64_MAX, INT64_MIN, 0}));
  }
}

TEST(InterpKernels, IntegerToFloat) {
  for (const Kernels *set : allKernels()) {
    std::vector<int32_t> values = {-1, 16777217, INT32_MIN};
    EXPECT_EQ(run<float>(set->convert(ConvertOp::SignedToFloat, Elem::I32, Elem::F32), values),
              (std::vector<float>{-1, 16777216, -2147483648.f}));
    EXPECT_EQ(run<float>(set->convert(ConvertOp::UnsignedToFloat, Elem::I32, Elem::F32), values),
              (std::vector<float>{4294967296.f, 16777216, 2147483648.f}));
    EXPECT_EQ(run<uint16_t>(set->convert(ConvertOp::SignedToFloat, Elem::I32, Elem::F16),
                            std::vector<int32_t>{2049}),
              (std::vector<uint16_t>{toHalf(2048).bits}));
  }
}

TEST(InterpKernels, MathFunctionsInPlace) {
  for (const Kernels *set : allKernels()) {
    EXPECT_EQ((run<float>(set->unary(UnaryOp::Rsqrt, Elem::F32), std::vector<float>{4, 0.25f})),
              (std::vector<float>{0.5f, 2}));
    EXPECT_EQ((run<float>(set->unary(UnaryOp::RoundEven, Elem::F32),
                          std::vector<float>{0.5f, 1.5f, -2.5f})),
              (std::vector<float>{0, 2, -2}));
    EXPECT_EQ((run<double>(set->unary(UnaryOp::Exp2, Elem::F64), std::vector<double>{-1, 10})),
              (std::vector<double>{0.5, 1024}));
    EXPECT_NEAR((run<float>(set->unary(UnaryOp::Erf, Elem::F32), std::vector<float>{0.5f})[0]),
                0.5204999f, 1e-6f);
    EXPECT_EQ((run<uint32_t>(set->unary(UnaryOp::CountLeadingZeros, Elem::I32),
                             std::vector<uint32_t>{0, 1, 0x80000000})),
              (std::vector<uint32_t>{32, 31, 0}));
    EXPECT_EQ((run<uint8_t>(set->unary(UnaryOp::CountTrailingZeros, Elem::I8),
                            std::vector<uint8_t>{0, 8, 255})),
              (std::vector<uint8_t>{8, 3, 0}));
  }
}

} // namespace
