//===- LowerBytes.cpp - integer arithmetic on the four bytes of a word ------------------------===//
// Needs: tiles of 8-bit integers.
// Gives: lowerOnPackedBytes: the operation on 32-bit words, where the registers of the operands are
//        the bytes of words, as loads and these operations leave them.
// How:   A shift moves bits across bytes, which a mask removes; the sign of each byte is spread by
//        `prmt`. A sum adds the lower seven bits, so that nothing is carried, and the highest ones
//        by XOR (Warren, Hacker's Delight, 2-18). An operation element by element costs four
//        instructions, and four more to take the word apart and put it together.
//===-------------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
constexpr int bytesOfWord = 4;

/// `byte` in each byte.
constexpr uint32_t spread(uint8_t byte) { return 0x01010101u * byte; }

/// The operands' words of four registers. `constant`: the right one's byte, the same in all.
struct Operands {
  llvm::Value *x, *y;
  std::optional<uint8_t> constant;
};

/// The registers from `first` on, as a word.
llvm::Value *wordAt(Lowering &l, ValueList values, int first) {
  if (auto *all = values.size() == 1 ? dyn_cast<llvm::ConstantInt>(values[0]) : nullptr)
    return l.b.getInt32(spread(all->getZExtValue()));
  if (values.size() == 1)
    return nullptr;
  uint32_t constant = 0;
  for (int i = 0; i < bytesOfWord; ++i) {
    auto *byte = dyn_cast<llvm::ConstantInt>(values[first + i]);
    if (!byte)
      return wordOfBytes(values.slice(first, bytesOfWord));
    constant |= uint32_t(byte->getZExtValue()) << 8 * i;
  }
  return l.b.getInt32(constant);
}

/// 0xff where the byte is negative, else 0.
llvm::Value *signs(Lowering &l, llvm::Value *word) {
  constexpr uint32_t replicateSigns = 0xba98;
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_prmt,
                             {word, l.b.getInt32(0), l.b.getInt32(replicateSigns)});
}

/// Null for amounts that differ or that are the width or more.
llvm::Value *shift(Lowering &l, Operation *op, Operands v) {
  if (!v.constant || *v.constant >= 8)
    return nullptr;
  const int amount = *v.constant;
  const uint32_t kept = spread(isa<arith::ShLIOp>(op) ? 0xff << amount : 0xff >> amount);
  if (isa<arith::ShLIOp>(op))
    return l.b.CreateAnd(l.b.CreateShl(v.x, amount), kept);
  llvm::Value *moved = l.b.CreateAnd(l.b.CreateLShr(v.x, amount), kept);
  if (isa<arith::ShRUIOp>(op))
    return moved;
  return l.b.CreateOr(moved, l.b.CreateAnd(signs(l, v.x), ~kept));
}

/// x + y, or x - y, in each byte, modulo 256.
llvm::Value *sum(Lowering &l, Operands v, bool isDifference) {
  constexpr uint32_t highest = spread(0x80);
  llvm::Value *y = l.b.CreateAnd(v.y, ~highest);
  llvm::Value *lower = isDifference ? l.b.CreateSub(l.b.CreateOr(v.x, highest), y)
                                    : l.b.CreateAdd(l.b.CreateAnd(v.x, ~highest), y);
  llvm::Value *carried = l.b.CreateXor(v.x, isDifference ? l.b.CreateNot(v.y) : v.y);
  return l.b.CreateXor(lower, l.b.CreateAnd(carried, highest));
}

llvm::Value *onWord(Lowering &l, Operation *op, Operands v) {
  return llvm::TypeSwitch<Operation *, llvm::Value *>(op)
      .Case([&](arith::AndIOp) { return l.b.CreateAnd(v.x, v.y); })
      .Case([&](arith::OrIOp) { return l.b.CreateOr(v.x, v.y); })
      .Case([&](arith::XOrIOp) { return l.b.CreateXor(v.x, v.y); })
      .Case<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(
          [&](Operation *) { return shift(l, op, v); })
      .Case([&](arith::AddIOp) { return sum(l, v, false); })
      .Case([&](arith::SubIOp) { return sum(l, v, true); })
      .Default([](Operation *) { return nullptr; });
}

std::optional<uint8_t> equalBytes(llvm::Value *word) {
  auto *constant = dyn_cast<llvm::ConstantInt>(word);
  if (!constant || constant->getZExtValue() != spread(constant->getZExtValue() & 0xff))
    return std::nullopt;
  return constant->getZExtValue() & 0xff;
}
} // namespace

bool lower::lowerOnPackedBytes(Lowering &l, Operation *op) {
  auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!tile || !tile.getElementType().isInteger(8) || l.count(tile) % bytesOfWord != 0)
    return false;
  const ValueList left = l.get(op->getOperand(0)), right = l.get(op->getOperand(1));
  Values words;
  for (int first = 0; first < l.count(tile); first += bytesOfWord) {
    llvm::Value *x = wordAt(l, left, first), *y = wordAt(l, right, first);
    if (!x || !y || (isa<llvm::Constant>(x) && isa<llvm::Constant>(y)))
      return false;
    llvm::Value *word = onWord(l, op, {x, y, equalBytes(y)});
    if (!word)
      return false;
    words.push_back(word);
  }
  l.set(op->getResult(0), l.unpack(words, l.b.getInt8Ty(), 8, l.count(tile)));
  return true;
}
