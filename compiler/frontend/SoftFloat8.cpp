//===- SoftFloat8.cpp - see SoftFloat8.h --------------------------------------------------===//
// How:   fp8e4b15 is fp16 without the upper exponent bit and the lower 7 bits of the fraction; it
//        has no NaN, and its largest number is 1.75. fp8e4b8 and fp8e5b16 (ml_dtypes'
//        float8_e4m3fnuz and float8_e5m2fnuz) have neither infinities nor a negative zero, whose
//        code is NaN. Conversions saturate to the largest number, as in the other 8-bit formats.
//===------------------------------------------------------------------------------------===//
#include "frontend/SoftFloat8.h"
#include <llvm/ADT/APFloat.h>

using namespace pantile;
namespace arith = mlir::arith;

namespace {
constexpr uint32_t largestFp8E4B15 = 0x3f00; // as fp16
constexpr uint8_t fnuzNan = 0x80, largestFnuz = 0x7f;

struct Format {
  int mantissa, bias;
};
Format formatOf(DType fnuz) { return fnuz == DType(Scalar::F8E4B8) ? Format{3, 8} : Format{2, 16}; }

uint8_t fp8E4B15Of(double value) {
  llvm::APFloat half(value);
  bool inexact;
  half.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  const auto bits = static_cast<uint32_t>(half.bitcastToAPInt().getZExtValue());
  const uint32_t magnitude = std::min(bits & 0x7fff, largestFp8E4B15);
  return static_cast<uint8_t>((bits >> 8 & 0x80) | (2 * magnitude + 0x80) >> 8);
}

uint8_t fnuzOf(DType format, double value) {
  const llvm::fltSemantics &semantics = format == DType(Scalar::F8E4B8)
                                            ? llvm::APFloat::Float8E4M3FNUZ()
                                            : llvm::APFloat::Float8E5M2FNUZ();
  if (std::isnan(value))
    return fnuzNan;
  const double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
  llvm::APFloat number(std::clamp(value, -largest, largest));
  bool inexact;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.isZero() ? 0 : static_cast<uint8_t>(number.bitcastToAPInt().getZExtValue());
}

/// Elementwise operations on the bits of a tile or a scalar.
struct BitBuilder {
  Emitter &e;

  template <typename Op> Runtime make(const Runtime &x, const Runtime &y) {
    return {e.b.createOrFold<Op>(e.loc(), x.ir, y.ir), x.type};
  }
  template <typename Op> Runtime make(const Runtime &x, double number) {
    return make<Op>(x, e.filled(x.type, number));
  }
  template <typename Op> Runtime to(const Runtime &x, DType dtype) {
    Type type = x.type.withElement(dtype);
    return {e.b.createOrFold<Op>(e.loc(), e.irType(type), x.ir), type};
  }
  Runtime bits(const Runtime &x, DType dtype) { return to<arith::BitcastOp>(x, dtype); }
  Runtime isInt(arith::CmpIPredicate how, const Runtime &x, double number) {
    return {e.b.createOrFold<arith::CmpIOp>(e.loc(), how, x.ir, e.filled(x.type, number).ir),
            x.type.withElement(Scalar::I1)};
  }
  Runtime isGreater(const Runtime &x, const Runtime &y) {
    return {e.b.createOrFold<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::OGT, x.ir, y.ir),
            x.type.withElement(Scalar::I1)};
  }
  Runtime select(const Runtime &condition, const Runtime &x, const Runtime &y) {
    return {e.b.createOrFold<arith::SelectOp>(e.loc(), condition.ir, x.ir, y.ir), x.type};
  }
  Runtime byte(const Runtime &x, DType dtype) {
    return {to<arith::TruncIOp>(x, Scalar::U8).ir, x.type.withElement(dtype)};
  }
};

/// The exponents of fp8e4b8 begin 7 below those of fp16.
Runtime e4b8Magnitude(BitBuilder &b, const Runtime &code) {
  Runtime small = b.bits(b.make<arith::ShLIOp>(code, 7), Scalar::F16);
  return b.bits(b.make<arith::MulFOp>(small, 128.0), Scalar::U16);
}

/// fp16 has the exponents of fp8e5b16 but for the two lowest, whose numbers are subnormal there.
Runtime e5b16Magnitude(BitBuilder &b, const Runtime &code) {
  Runtime subnormal = b.make<arith::ShLIOp>(code, 7);
  Runtime normal = b.make<arith::SubIOp>(b.make<arith::ShLIOp>(code, 8), 1 << 10);
  return b.make<arith::MaxSIOp>(subnormal, normal);
}

/// The code of the number nearest to the fp32 whose bits without a sign are `magnitude`.
Runtime nearestCode(BitBuilder &b, const Runtime &magnitude, Format format) {
  const int drop = 23 - format.mantissa;
  // Normal numbers: add half a unit (to even), truncate, change the bias.
  Runtime odd = b.make<arith::AndIOp>(b.make<arith::ShRUIOp>(magnitude, drop), 1);
  Runtime half = b.make<arith::AddIOp>(magnitude, (1 << (drop - 1)) - 1);
  Runtime cut = b.make<arith::ShRUIOp>(b.make<arith::AddIOp>(half, odd), drop);
  Runtime normal = b.make<arith::SubIOp>(cut, (127 - format.bias) << format.mantissa);
  // Subnormal ones: adding 2^k makes the adder round at their last place.
  const int power = 23 + 1 - format.bias - format.mantissa;
  Runtime moved = b.make<arith::AddFOp>(b.bits(magnitude, Scalar::F32), std::ldexp(1.0, power));
  Runtime subnormal =
      b.make<arith::SubIOp>(b.bits(moved, Scalar::U32), double(uint32_t(127 + power) << 23));
  Runtime isNormal =
      b.isInt(arith::CmpIPredicate::uge, magnitude, double(uint32_t(127 + 1 - format.bias) << 23));
  return b.make<arith::MinUIOp>(b.select(isNormal, normal, subnormal), largestFnuz);
}

/// `code`, or the previous one if its number is larger than `magnitude`.
Runtime towardZero(BitBuilder &b, const Runtime &code, const Runtime &magnitude, DType format) {
  Runtime back = b.to<arith::ExtFOp>(softFp8ToHalf(b.e, b.byte(code, format)), Scalar::F32);
  Runtime isBeyond = b.isGreater(back, b.bits(magnitude, Scalar::F32));
  return b.make<arith::SubIOp>(code, b.to<arith::ExtUIOp>(isBeyond, Scalar::U32));
}

/// The fp32 that rounds to an 8-bit format as the fp64 itself does: truncated, with the last bit
/// set if bits were lost.
Runtime roundToOdd(BitBuilder &b, const Runtime &x) {
  Emitter &e = b.e;
  Type type = x.type.withElement(Scalar::F32);
  auto toZero = arith::RoundingModeAttr::get(e.b.getContext(), arith::RoundingMode::toward_zero);
  Runtime cut{arith::TruncFOp::create(e.b, e.loc(), e.irType(type), x.ir, toZero, nullptr), type};
  Runtime back = b.to<arith::ExtFOp>(cut, Scalar::F64);
  Runtime isInexact{
      e.b.createOrFold<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UNE, back.ir, x.ir),
      x.type.withElement(Scalar::I1)};
  Runtime last = b.to<arith::ExtUIOp>(isInexact, Scalar::U32);
  return b.bits(b.make<arith::OrIOp>(b.bits(cut, Scalar::U32), last), Scalar::F32);
}

Runtime asSingle(BitBuilder &b, const Runtime &x) {
  switch (x.type.element.scalar) {
  case Scalar::F32:
    return x;
  case Scalar::F64:
    return roundToOdd(b, x);
  default:
    return b.to<arith::ExtFOp>(x, Scalar::F32);
  }
}
} // namespace

uint8_t pantile::softFp8Of(DType format, double value) {
  return format.isFnuz() ? fnuzOf(format, value) : fp8E4B15Of(value);
}

Runtime pantile::softFp8ToHalf(Emitter &e, const Runtime &x) {
  BitBuilder b{e};
  const DType format = x.type.element;
  Runtime code = b.to<arith::ExtUIOp>({x.ir, x.type.withElement(Scalar::U8)}, Scalar::U16);
  Runtime sign = b.make<arith::ShLIOp>(b.make<arith::AndIOp>(code, 0x80), 8);
  Runtime number = b.make<arith::AndIOp>(code, 0x7f);
  if (!format.isFnuz())
    return b.bits(b.make<arith::OrIOp>(sign, b.make<arith::ShLIOp>(number, 7)), Scalar::F16);
  Runtime magnitude =
      format == DType(Scalar::F8E4B8) ? e4b8Magnitude(b, number) : e5b16Magnitude(b, number);
  Runtime isNan = b.isInt(arith::CmpIPredicate::eq, code, fnuzNan);
  Runtime half =
      b.select(isNan, e.filled(code.type, 0x7e00), b.make<arith::OrIOp>(sign, magnitude));
  return b.bits(half, Scalar::F16);
}

Runtime pantile::halfToFp8E4B15(Emitter &e, const Runtime &half) {
  BitBuilder b{e};
  Runtime bits = b.bits(half, Scalar::U16);
  Runtime magnitude = b.make<arith::MinUIOp>(b.make<arith::AndIOp>(bits, 0x7fff), largestFp8E4B15);
  Runtime rounded = b.make<arith::AddIOp>(b.make<arith::ShLIOp>(magnitude, 1), 0x80);
  Runtime code = b.make<arith::OrIOp>(b.make<arith::AndIOp>(bits, 0x8000), rounded);
  return b.byte(b.make<arith::ShRUIOp>(code, 8), Scalar::F8E4B15);
}

Runtime pantile::floatToFnuz(Emitter &e, const Runtime &x, DType format, bool roundToZero) {
  BitBuilder b{e};
  Runtime bits = b.bits(asSingle(b, x), Scalar::U32);
  Runtime magnitude = b.make<arith::AndIOp>(bits, 0x7fffffff);
  Runtime code = nearestCode(b, magnitude, formatOf(format));
  if (roundToZero)
    code = towardZero(b, code, magnitude, format);
  Runtime sign = b.make<arith::AndIOp>(b.make<arith::ShRUIOp>(bits, 24), 0x80);
  Runtime isZero = b.isInt(arith::CmpIPredicate::eq, code, 0);
  Runtime signedCode = b.select(isZero, code, b.make<arith::OrIOp>(code, sign));
  Runtime isNan = b.isInt(arith::CmpIPredicate::ugt, magnitude, 0x7f800000);
  return b.byte(b.select(isNan, e.filled(code.type, fnuzNan), signedCode), format);
}
