//===- LowerIntToFloat.cpp - conversions of integers to floating point ------------------------===//
// Gives: addIntToFloats.
// How:   Two bytes become a pair of 16-bit floats without a conversion, which takes as long as eight
//        of these operations:
//        1. Let 2^k be the power of two whose last place is 1. With the integer u as its low bits, it
//        becomes 2^k + u. Then 2^k is subtracted. Halves have 10 such bits, bf16 7.
//        2. What may be negative is biased. Of a number v in [-b, b), b a power of two, the lower bits
//        are (v mod 2b) ^ b = v + b. Then b is subtracted, too. ElementRange.h says how many bits
//        there are.
//        3. Bf16 has one bit too few for bytes. Of a signed byte, the sign's 128 is in the number that
//        is subtracted. An unsigned byte is 128 more than a signed one.
//        4. Wider integers are converted. That has a pipe of its own, which is idle while bytes are
//        shifted and masked.
//===-----------------------------------------------------------------------------------===//
#include "analysis/ElementRange.h"
#include "lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {

/// How integers become unsigned ones: (v & mask) ^ bias.
struct Biased {
  uint32_t bias, mask;
};

/// Null where that takes more than `bits` bits.
std::optional<Biased> biasWithin(int bits, const ConstantIntRanges &range, bool isSigned) {
  const int64_t limit = int64_t(1) << bits;
  if ((!isSigned || range.smin().isNonNegative()) && range.umax().ult(limit))
    return Biased{0, static_cast<uint32_t>(limit - 1)};
  const int64_t low = range.smin().getSExtValue(), high = range.smax().getSExtValue();
  if (!isSigned || low < -limit / 2 || high >= limit / 2)
    return std::nullopt;
  const auto bias = static_cast<uint32_t>(llvm::PowerOf2Ceil(std::max(-low, high + 1)));
  return Biased{bias, 2 * bias - 1};
}

/// Converts integers to `to`, a 16-bit float.
class Pairs {
public:
  Pairs(Lowering &l, llvm::Type *to)
      : l(l), b(l.b), type(to), pair(llvm::FixedVectorType::get(to, 2)) {}

  int bits() const { return type->isHalfTy() ? 10 : 7; }

  Values ofBytes(ValueList bytes, Biased biased) {
    return byWords(bytes, [&](llvm::Value *word, uint32_t selector) {
      if (biased.bias && biased.mask < 0xff)
        word = b.CreateAnd(word, spread * biased.mask);
      word = b.CreateXor(word, spread * biased.bias);
      return less(permute(word, b.getInt32(spread * upper()), selector), power() + biased.bias);
    });
  }

  /// Of bf16, any bytes.
  Values ofAllBytes(ValueList bytes, bool isSigned) {
    return byWords(bytes, [&](llvm::Value *word, uint32_t selector) -> llvm::Value * {
      if (!isSigned)
        word = b.CreateXor(word, spread * 0x80);
      llvm::Value *both = permute(word, b.getInt32(spread * upper()), selector);
      llvm::Value *number = b.CreateFSub(floats(b.CreateAnd(both, twice(0xff7f))),
                                         floats(b.CreateAnd(both, twice(0xff80))));
      return isSigned ? number : b.CreateFAdd(number, llvm::ConstantFP::get(pair, 128.0));
    });
  }

private:
  static constexpr uint32_t spread = 0x01010101;

  static uint32_t twice(uint32_t half) { return half << 16 | half; }
  uint32_t power() const { return 1U << bits(); }
  /// The upper byte of 2^k.
  uint32_t upper() const { return type->isHalfTy() ? 0x64 : 0x43; }

  llvm::Value *floats(llvm::Value *both) { return b.CreateBitCast(both, pair); }
  llvm::Value *less(llvm::Value *both, uint32_t number) {
    return b.CreateFSub(floats(both), llvm::ConstantFP::get(pair, number));
  }
  llvm::Value *permute(llvm::Value *first, llvm::Value *second, uint32_t selector) {
    return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_prmt,
                             {first, second, b.getInt32(selector)});
  }

  void append(Values &result, llvm::Value *both, size_t most) {
    for (uint64_t n : {0, 1})
      if (result.size() < most)
        result.push_back(b.CreateExtractElement(both, n));
  }

  /// By `convert`, which takes two bytes of a word and the upper bytes of two floats by its selector.
  Values byWords(ValueList bytes,
                 llvm::function_ref<llvm::Value *(llvm::Value *, uint32_t)> convert) {
    Values result;
    for (size_t i = 0; i < bytes.size(); i += 4) {
      const size_t count = std::min<size_t>(4, bytes.size() - i);
      llvm::Value *word = b.CreateZExt(l.pack(bytes.slice(i, count), 8)[0], b.getInt32Ty());
      append(result, convert(word, 0x4140), bytes.size());
      if (count > 2)
        append(result, convert(word, 0x4342), bytes.size());
    }
    return result;
  }

  Lowering &l;
  llvm::IRBuilder<> &b;
  llvm::Type *type;
  llvm::FixedVectorType *pair;
};

/// `values`, bytes of `tile`, in pairs; nothing where a conversion is needed.
std::optional<Values> inPairs(Lowering &l, Value tile, ValueList values, Type to, bool isSigned) {
  const bool takes = to.isF16() || (to.isBF16() && l.target.hasBf16Arithmetic());
  if (!takes || values.size() < 2 || !values[0]->getType()->isIntegerTy(8) ||
      llvm::all_of(values, llvm::IsaPred<llvm::Constant>))
    return std::nullopt;
  Pairs pairs(l, l.type(to));
  const auto biased = biasWithin(pairs.bits(), rangeOfElements(tile), isSigned);
  return biased ? pairs.ofBytes(values, *biased) : pairs.ofAllBytes(values, isSigned);
}

/// Rounds once: through fp64, in which most integers are exact, where there is no conversion.
template <typename Op, llvm::Instruction::CastOps opcode> void addIntToFloat(Handlers &h) {
  h.add<Op>([](Lowering &l, Operation *op) -> LogicalResult {
    const Type to = elementTypeOf(op->getResult(0).getType());
    const bool viaDouble = isFloat8(to) || (to.isBF16() && !l.target.hasBf16Arithmetic());
    llvm::Type *type = viaDouble ? l.b.getDoubleTy() : l.type(to);
    const Values values = withoutPoison(l.get(op->getOperand(0)));
    constexpr bool isSigned = opcode == llvm::Instruction::SIToFP;
    if (const auto pairs = inPairs(l, op->getOperand(0), values, to, isSigned)) {
      l.set(op->getResult(0), *pairs);
      return success();
    }
    Values result;
    for (llvm::Value *value : values)
      result.push_back(l.b.CreateCast(opcode, value, type));
    l.set(op->getResult(0), viaDouble ? narrowFloats(l, result, to) : result);
    return success();
  });
}
} // namespace

void lower::addIntToFloats(Handlers &h) {
  addIntToFloat<arith::SIToFPOp, llvm::Instruction::SIToFP>(h);
  addIntToFloat<arith::UIToFPOp, llvm::Instruction::UIToFP>(h);
}
