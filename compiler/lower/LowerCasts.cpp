//===- LowerCasts.cpp - conversions between element types ------------------------------------===//
// How:   8-bit floats are integers in LLVM IR. The hardware converts them in pairs of consecutive
//        registers; where it cannot, a few integer operations give the same results: round to
//        nearest even, saturate to the largest finite number, keep NaN. Rounding toward zero
//        corrects the result of rounding to nearest, for all formats in the same way.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

bool lower::isFloat8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

namespace {
bool isE4M3(Type type) { return isa<Float8E4M3FNType>(type); }

//===- 8-bit floats --------------------------------------------------------------------===//

/// A byte to half: E5M2 is the upper byte of a half; E4M3 has a bias 8 smaller.
llvm::Value *float8ToHalf(Lowering &l, llvm::Value *byte, bool e4m3) {
  auto &b = l.b;
  llvm::Value *wide = b.CreateZExt(byte, b.getInt16Ty());
  if (!e4m3)
    return b.CreateBitCast(b.CreateShl(wide, 8), b.getHalfTy());
  llvm::Value *sign = b.CreateShl(b.CreateAnd(wide, 0x80), 8);
  llvm::Value *magnitude = b.CreateAnd(wide, 0x7f);
  llvm::Value *small = b.CreateBitCast(b.CreateOr(sign, b.CreateShl(magnitude, 7)), b.getHalfTy());
  llvm::Value *scaled = b.CreateFMul(small, llvm::ConstantFP::get(b.getHalfTy(), 256.0));
  llvm::Value *isNan = b.CreateICmpEQ(magnitude, b.getInt16(0x7f));
  return b.CreateSelect(isNan, llvm::ConstantFP::getNaN(b.getHalfTy()), scaled);
}

/// Bytes `i`, an even number, and the next one in 16 bits: half of the word that they come from, if
/// they come from one.
llvm::Value *pairAt(Lowering &l, ValueList bytes, size_t i) {
  auto &b = l.b;
  const size_t first = i & ~size_t(3);
  if (first + 4 <= bytes.size())
    if (llvm::Value *word = wordOfBytes(bytes.slice(first, 4)))
      return b.CreateTrunc(i == first ? word : b.CreateLShr(word, 16), b.getInt16Ty());
  llvm::Value *low = b.CreateZExt(bytes[i], b.getInt16Ty());
  if (i + 1 == bytes.size())
    return low;
  return b.CreateOr(low, b.CreateShl(b.CreateZExt(bytes[i + 1], b.getInt16Ty()), 8));
}

Values hardwareToHalf(Lowering &l, ValueList bytes, bool e4m3) {
  auto &b = l.b;
  auto *pair = llvm::FixedVectorType::get(b.getHalfTy(), 2);
  const auto id =
      e4m3 ? llvm::Intrinsic::nvvm_e4m3x2_to_f16x2_rn : llvm::Intrinsic::nvvm_e5m2x2_to_f16x2_rn;
  Values halves;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    llvm::Value *both = b.CreateIntrinsic(pair, id, {pairAt(l, bytes, i)});
    for (size_t j = i; j < std::min(i + 2, bytes.size()); ++j)
      halves.push_back(b.CreateExtractElement(both, j - i));
  }
  return halves;
}

/// fp32 to a byte with `mantissa` bits of fraction.
llvm::Value *floatToFloat8(Lowering &l, llvm::Value *value, bool e4m3) {
  auto &b = l.b;
  const int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, drop = 23 - mantissa;
  llvm::Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  llvm::Value *magnitude = b.CreateAnd(bits, 0x7fffffff);
  // Normal numbers: add half a unit (to even), truncate, change the bias.
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(magnitude, drop), 1);
  llvm::Value *rounded =
      b.CreateAdd(b.CreateAdd(magnitude, b.getInt32((1 << (drop - 1)) - 1)), odd);
  llvm::Value *normal =
      b.CreateSub(b.CreateLShr(rounded, drop), b.getInt32((127 - bias) << mantissa));
  // Subnormal ones: adding 2^k makes the adder round at their last place.
  const uint32_t magic = uint32_t(127 + 23 + 1 - bias - mantissa) << 23;
  llvm::Value *shifted = b.CreateFAdd(b.CreateBitCast(magnitude, b.getFloatTy()),
                                      b.CreateBitCast(b.getInt32(magic), b.getFloatTy()));
  llvm::Value *subnormal = b.CreateSub(b.CreateBitCast(shifted, b.getInt32Ty()), b.getInt32(magic));
  llvm::Value *isNormal = b.CreateICmpUGE(magnitude, b.getInt32(uint32_t(127 + 1 - bias) << 23));
  llvm::Value *code = b.CreateSelect(isNormal, normal, subnormal);
  code = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code, b.getInt32(e4m3 ? 0x7e : 0x7b));
  llvm::Value *isNan = b.CreateICmpUGT(magnitude, b.getInt32(0x7f800000));
  code = b.CreateSelect(isNan, b.getInt32(0x7f), code);
  return b.CreateTrunc(b.CreateOr(code, b.CreateAnd(b.CreateLShr(bits, 24), 0x80)), b.getInt8Ty());
}

Values hardwareToFloat8(Lowering &l, ValueList floats, bool e4m3) {
  auto &b = l.b;
  const auto id =
      e4m3 ? llvm::Intrinsic::nvvm_ff_to_e4m3x2_rn : llvm::Intrinsic::nvvm_ff_to_e5m2x2_rn;
  Values bytes;
  for (size_t i = 0; i < floats.size(); i += 2) {
    llvm::Value *high =
        i + 1 < floats.size() ? floats[i + 1] : llvm::ConstantFP::get(b.getFloatTy(), 0.0);
    llvm::Value *both = b.CreateIntrinsic(b.getInt16Ty(), id, {high, floats[i]});
    bytes.push_back(b.CreateTrunc(both, b.getInt8Ty()));
    if (i + 1 < floats.size())
      bytes.push_back(b.CreateTrunc(b.CreateLShr(both, 8), b.getInt8Ty()));
  }
  return bytes;
}

llvm::Value *halfTo(Lowering &l, llvm::Value *half, llvm::Type *to) {
  if (to->isHalfTy())
    return half;
  if (to->isBFloatTy())
    return l.b.CreateFPTrunc(l.b.CreateFPExt(half, l.b.getFloatTy()), to);
  return l.b.CreateFPExt(half, to);
}

//===- floating point ------------------------------------------------------------------===//

LogicalResult lowerExtF(Lowering &l, arith::ExtFOp op) {
  Type from = elementTypeOf(op.getIn().getType());
  llvm::Type *to = l.type(elementTypeOf(op.getType()));
  if (!isFloat8(from))
    return mapElements(l, op, [&](ValueList v) { return l.b.CreateFPExt(v[0], to); });
  Values halves;
  if (l.target.hasFp8Convert())
    halves = hardwareToHalf(l, withoutPoison(l.get(op.getIn())), isE4M3(from));
  else
    for (llvm::Value *byte : l.get(op.getIn()))
      halves.push_back(float8ToHalf(l, byte, isE4M3(from)));
  for (llvm::Value *&half : halves)
    half = halfTo(l, half, to);
  l.set(op, halves);
  return success();
}

llvm::Value *magnitude(Lowering &l, llvm::Value *value) {
  return l.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
}

/// The fp32 that rounds to any narrower format as the fp64 itself does: truncated, with the last
/// bit set if bits were lost (round to odd).
llvm::Value *roundToOdd(Lowering &l, llvm::Value *value) {
  auto &b = l.b;
  llvm::Value *rounded = b.CreateFPTrunc(value, b.getFloatTy());
  llvm::Value *back = magnitude(l, b.CreateFPExt(rounded, b.getDoubleTy()));
  llvm::Value *exact = magnitude(l, value);
  llvm::Value *bits = b.CreateBitCast(rounded, b.getInt32Ty());
  llvm::Value *isBeyond = b.CreateZExt(b.CreateFCmpOGT(back, exact), b.getInt32Ty());
  llvm::Value *odd = b.CreateOr(b.CreateSub(bits, isBeyond), 1);
  llvm::Value *isInexact = b.CreateFCmpONE(back, exact);
  return b.CreateBitCast(b.CreateSelect(isInexact, odd, bits), b.getFloatTy());
}

/// fp32 to 16 bits in pairs, since two neighbours are one instruction and one register.
Values narrowPairs(Lowering &l, ValueList values, llvm::Type *to) {
  auto &b = l.b;
  const auto id =
      to->isHalfTy() ? llvm::Intrinsic::nvvm_ff2f16x2_rn : llvm::Intrinsic::nvvm_ff2bf16x2_rn;
  auto *pair = llvm::FixedVectorType::get(to, 2);
  Values result;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    llvm::Value *both = b.CreateIntrinsic(pair, id, {values[i + 1], values[i]});
    for (uint64_t j : {0, 1})
      result.push_back(b.CreateExtractElement(both, j));
  }
  if (values.size() % 2 != 0)
    result.push_back(b.CreateFPTrunc(values.back(), to));
  return result;
}

} // namespace

Values lower::narrowFloats(Lowering &l, ValueList values, Type to) {
  auto &b = l.b;
  const bool fromDouble = values[0]->getType()->isDoubleTy();
  Values result;
  if (!isFloat8(to) && l.type(to)->getPrimitiveSizeInBits() == 16 &&
      values[0]->getType()->isFloatTy() && !llvm::all_of(values, llvm::IsaPred<llvm::Constant>))
    return narrowPairs(l, values, l.type(to));
  if (!isFloat8(to)) {
    for (llvm::Value *value : values)
      result.push_back(
          b.CreateFPTrunc(fromDouble && to.isBF16() ? roundToOdd(l, value) : value, l.type(to)));
    return result;
  }
  Values floats;
  for (llvm::Value *value : values)
    floats.push_back(fromDouble ? roundToOdd(l, value) : b.CreateFPCast(value, b.getFloatTy()));
  if (l.target.hasFp8Convert())
    return hardwareToFloat8(l, floats, isE4M3(to));
  for (llvm::Value *value : floats)
    result.push_back(floatToFloat8(l, value, isE4M3(to)));
  return result;
}

namespace {
/// `rounded` is `value` rounded to nearest; where its magnitude is larger, the previous code.
llvm::Value *towardZero(Lowering &l, llvm::Value *value, llvm::Value *rounded, Type to) {
  auto &b = l.b;
  llvm::Type *wide = value->getType(), *integer = b.getIntNTy(storageBits(to));
  llvm::Value *back =
      isFloat8(to) ? widenFloat8(l, rounded, to, wide) : b.CreateFPExt(rounded, wide);
  llvm::Value *isBeyond = b.CreateFCmpOGT(magnitude(l, back), magnitude(l, value));
  llvm::Value *code =
      b.CreateSub(b.CreateBitCast(rounded, integer), b.CreateZExt(isBeyond, integer));
  return b.CreateBitCast(code, rounded->getType());
}

LogicalResult lowerTruncF(Lowering &l, arith::TruncFOp op) {
  const Type to = elementTypeOf(op.getType());
  const Values values = withoutPoison(l.get(op.getIn()));
  Values result = narrowFloats(l, values, to);
  if (op.getRoundingmode() == arith::RoundingMode::toward_zero)
    for (auto [value, rounded] : llvm::zip_equal(values, result))
      rounded = towardZero(l, value, rounded, to);
  l.set(op, result);
  return success();
}

//===- integers ------------------------------------------------------------------------===//

template <typename Op, llvm::Instruction::CastOps opcode> void addCast(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) {
    llvm::Type *to = l.type(elementTypeOf(op->getResult(0).getType()));
    return mapElements(l, op, [&](ValueList v) { return l.b.CreateCast(opcode, v[0], to); });
  });
}

template <typename Op, llvm::Instruction::CastOps opcode> void addFloatToInt(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) {
    const Type from = elementTypeOf(op->getOperand(0).getType());
    llvm::Type *to = l.type(elementTypeOf(op->getResult(0).getType()));
    return mapElements(l, op, [&](ValueList v) {
      llvm::Value *value = isFloat8(from) ? widenFloat8(l, v[0], from, l.b.getFloatTy()) : v[0];
      return l.b.CreateCast(opcode, value, to);
    });
  });
}

LogicalResult lowerBitcast(Lowering &l, arith::BitcastOp op) {
  llvm::Type *to = l.type(elementTypeOf(op.getType()));
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateBitCast(v[0], to); });
}

LogicalResult lowerIndexCast(Lowering &l, arith::IndexCastOp op) {
  llvm::Type *to = l.type(elementTypeOf(op.getType()));
  return mapElements(l, op, [&](ValueList v) { return l.b.CreateSExtOrTrunc(v[0], to); });
}
} // namespace

llvm::Value *lower::widenFloat8(Lowering &l, llvm::Value *byte, Type element, llvm::Type *to) {
  llvm::Value *half = l.target.hasFp8Convert() ? hardwareToHalf(l, byte, isE4M3(element))[0]
                                               : float8ToHalf(l, byte, isE4M3(element));
  return halfTo(l, half, to);
}

void lower::addCasts(Handlers &h) {
  using I = llvm::Instruction;
  h.add<arith::ExtFOp>(lowerExtF);
  h.add<arith::TruncFOp>(lowerTruncF);
  addCast<arith::ExtSIOp, I::SExt>(h);
  addCast<arith::ExtUIOp, I::ZExt>(h);
  addCast<arith::TruncIOp, I::Trunc>(h);
  addFloatToInt<arith::FPToSIOp, I::FPToSI>(h);
  addFloatToInt<arith::FPToUIOp, I::FPToUI>(h);
  h.add<arith::BitcastOp>(lowerBitcast);
  h.add<arith::IndexCastOp>(lowerIndexCast);
}
