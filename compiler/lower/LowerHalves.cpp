//===- LowerHalves.cpp - sums and products of 16-bit floats, two at a time --------------------===//
// Needs: tiles of fp16 or bf16.
// Gives: lowerInPairs: the operation on pairs, where two registers are the halves of a word, as
//        loads, conversions and these operations leave them.
// How:   The other operand is a pair, too, or one number for both. Where neither is, a word would
//        have to be put together first, which costs as much as the second operation. ptxas makes
//        pairs of single operations, too, but in the order in which it finds them.
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Registers `first` and the next one, as a vector; null if they are neither halves of a word nor
/// one number.
llvm::Value *pairAt(Lowering &l, ValueList values, int first) {
  const bool isOne = values.size() == 1;
  llvm::Value *low = values[isOne ? 0 : first], *high = values[isOne ? 0 : first + 1];
  return low == high ? l.b.CreateVectorSplat(2, low) : pairOfHalves(l.b, low, high);
}

bool hasPairs(Lowering &l, RankedTensorType tile) {
  const Type element = tile.getElementType();
  return (element.isF16() || (element.isBF16() && l.target.hasBf16Arithmetic())) &&
         l.count(tile) % 2 == 0 && l.layout(tile).fillsHull();
}
} // namespace

bool lower::lowerInPairs(Lowering &l, Operation *op, llvm::Instruction::BinaryOps opcode) {
  auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!tile || !hasPairs(l, tile))
    return false;
  const ValueList left = l.get(op->getOperand(0)), right = l.get(op->getOperand(1));
  auto isOne = [](ValueList v, int i) { return v.size() == 1 || v[i] == v[i + 1]; };
  SmallVector<std::pair<llvm::Value *, llvm::Value *>> pairs;
  for (int first = 0; first < l.count(tile); first += 2) {
    if (isOne(left, first) && isOne(right, first))
      return false; // one operation for both
    pairs.push_back({pairAt(l, left, first), pairAt(l, right, first)});
    if (!pairs.back().first || !pairs.back().second)
      return false;
  }
  Values result;
  for (auto [x, y] : pairs) {
    llvm::Value *both = l.b.CreateBinOp(opcode, x, y);
    for (uint64_t half : {0, 1})
      result.push_back(l.b.CreateExtractElement(both, half));
  }
  l.set(op->getResult(0), result);
  return true;
}
