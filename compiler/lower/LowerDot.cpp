//===- LowerDot.cpp - products of register tiles: scalar FMA and mma.sync ---------------------===//
// Needs: operands in layouts that give each thread (FMA) or warp (mma.sync) what it needs.
// Gives: the accumulator's registers.
// How:   the registers of an element are looked up by coordinate, so any order of repetition
//        works. The fragments of one mma.sync are neighbouring registers (LinearLayout.h).
//===-----------------------------------------------------------------------------------===//
#include "lower/Elementwise.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using Coord = LinearLayout::Coord;

/// The coordinate of an operand's element from (batch..., row, column).
Coord operandCoord(const Coord &result, int row, int column) {
  Coord coord(result.begin(), result.end() - 2);
  coord.push_back(row);
  coord.push_back(column);
  return coord;
}

//===- scalar FMA ----------------------------------------------------------------------===//

/// Lanes and warps must move operand and accumulator alike along the dimension they share, and
/// hold all of K.
bool feeds(const LinearLayout &operand, const LinearLayout &acc, int shared) {
  auto same = [&](const LinearLayout::Bases &have, const LinearLayout::Bases &want) {
    return llvm::all_of(llvm::zip_equal(have, want), [&](auto pair) {
      Coord wanted = std::get<1>(pair);
      wanted[acc.rank() - 1 + acc.rank() - 2 - shared] = 0;
      return std::get<0>(pair) == wanted;
    });
  };
  return same(operand.lane(), acc.lane()) && same(operand.warp(), acc.warp());
}

llvm::Value *widen(Lowering &l, llvm::Value *value, Type element, llvm::Type *type) {
  if (isFloat8(element))
    return widenFloat8(l, value, element, type);
  if (value->getType() == type)
    return value;
  return type->isIntegerTy() ? l.b.CreateSExt(value, type) : l.b.CreateFPExt(value, type);
}

llvm::Value *multiplyAdd(Lowering &l, llvm::Value *x, llvm::Value *y, llvm::Value *sum) {
  if (sum->getType()->isIntegerTy())
    return l.b.CreateAdd(l.b.CreateMul(x, y), sum);
  return l.b.CreateIntrinsic(sum->getType(), llvm::Intrinsic::fma, {x, y, sum});
}

LogicalResult lowerFma(Lowering &l, DotOp op) {
  const LinearLayout &lhs = l.layout(op.getLhs().getType()), &rhs = l.layout(op.getRhs().getType()),
                     &acc = l.layout(op.getType());
  const int rank = acc.rank(), k = lhs.shape()[rank - 1];
  if (!feeds(lhs, acc, rank - 2) || !feeds(rhs, acc, rank - 1))
    return op.emitError("operands of a scalar dot are in layouts that do not feed its result");
  llvm::Type *type = l.type(elementTypeOf(op.getType()));
  auto operand = [&](const LinearLayout &layout, Value value, const Coord &coord) {
    return widen(l, l.get(value)[*layout.registerOf(coord, 0, 0)], elementTypeOf(value.getType()),
                 type);
  };
  std::map<std::vector<int>, llvm::Value *> lhsOf, rhsOf; // each is converted once
  Values result(l.get(op.getAcc()));
  for (int i = 0; i < k; ++i)
    for (int reg = 0; reg < acc.numRegs(); ++reg) {
      const Coord at = acc.apply(reg, 0, 0);
      const Coord a = operandCoord(at, at[rank - 2], i), c = operandCoord(at, i, at[rank - 1]);
      llvm::Value *&x = lhsOf[std::vector<int>(a.begin(), a.end())];
      llvm::Value *&y = rhsOf[std::vector<int>(c.begin(), c.end())];
      x = x ? x : operand(lhs, op.getLhs(), a);
      y = y ? y : operand(rhs, op.getRhs(), c);
      result[reg] = multiplyAdd(l, x, y, result[reg]);
    }
  l.set(op, result);
  return success();
}

//===- mma.sync ------------------------------------------------------------------------===//

/// "f16" for the assembler; empty when no tensor core multiplies it.
StringRef mmaTypeName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (type.isInteger(8))
    return "s8";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  return isa<Float8E5M2Type>(type) ? "e5m2" : "";
}

/// One mma.sync on words; `acc` is four accumulators.
class MmaSync {
public:
  MmaSync(Lowering &l, Type operand, Type acc, int m, int n, int k) : l(l) {
    accType = l.type(acc);
    packed = accType->isHalfTy();
    const std::string accName = packed ? "f16" : accType->isIntegerTy() ? "s32" : "f32";
    const char constraint = packed || accType->isIntegerTy() ? 'r' : 'f';
    const int accWords = packed ? 2 : 4, aWords = 4, bWords = 2;
    text = "mma.sync.aligned.m" + std::to_string(m) + "n" + std::to_string(n) + "k" +
           std::to_string(k) + ".row.col" + "." + accName + "." + mmaTypeName(operand).str() + "." +
           mmaTypeName(operand).str() + "." + accName + " ";
    int next = 0;
    auto list = [&](int count) {
      text += "{";
      for (int i = 0; i < count; ++i)
        text += (i ? ", $" : "$") + std::to_string(next++);
      text += "}";
    };
    for (int count : {accWords, aWords, bWords, accWords}) {
      text += next ? ", " : "";
      list(count);
    }
    text += ";";
    for (int i = 0; i < accWords; ++i)
      constraints += std::string("=") + constraint + ",";
    for (int i = 0; i < aWords + bWords; ++i)
      constraints += "r,";
    for (int i = 0; i < accWords; ++i)
      constraints += std::string(i ? "," : "") + constraint;
    words = accWords;
  }

  Values operator()(ValueList a, ValueList b, ValueList acc) {
    Values operands(a);
    operands.append(b.begin(), b.end());
    Values sums = packed ? l.pack(acc, 16) : Values(acc);
    operands.append(sums);
    llvm::Type *word = packed ? l.b.getInt32Ty() : accType;
    auto *type =
        llvm::StructType::get(l.module.getContext(), llvm::SmallVector<llvm::Type *>(words, word));
    Values result = l.results(l.assembly(type, text, constraints, operands, true), words);
    return packed ? l.unpack(result, accType, 16, 4) : result;
  }

private:
  Lowering &l;
  llvm::Type *accType;
  bool packed;
  int words;
  std::string text, constraints;
};

/// The words of an operand's fragment that starts at `coord`; fp32 is rounded to tf32.
Values fragment(Lowering &l, Value value, const LinearLayout &layout, const Coord &coord, int words,
                unsigned bits, std::map<int, Values> &known) {
  const int first = *layout.registerOf(coord, 0, 0);
  auto [it, isNew] = known.try_emplace(first);
  if (!isNew)
    return it->second;
  Values elements(l.get(value).slice(first, words * 32 / bits));
  if (elements[0]->getType()->isFloatTy())
    for (llvm::Value *&element : elements)
      element = l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_f2tf32_rna, {element});
  return it->second = l.pack(elements, bits);
}

LogicalResult lowerMmaSync(Lowering &l, DotOp op) {
  const LinearLayout &lhs = l.layout(op.getLhs().getType()), &rhs = l.layout(op.getRhs().getType()),
                     &acc = l.layout(op.getType());
  const MmaAttr mma = *op.getMma();
  Type element = elementTypeOf(op.getLhs().getType());
  const unsigned bits = storageBits(element);
  const int rank = acc.rank(), k = lhs.shape()[rank - 1], step = mma.getK();
  if (mmaTypeName(element).empty())
    return op.emitError("tensor cores do not multiply ") << element;
  MmaSync instruction(l, element, elementTypeOf(op.getType()), mma.getM(), mma.getN(), step);
  std::map<int, Values> lhsWords, rhsWords;
  Values result(l.get(op.getAcc()));
  for (int i = 0; i < k; i += step)
    for (int reg = 0; reg < acc.numRegs(); reg += 4) {
      const Coord at = acc.apply(reg, 0, 0);
      Values a =
          fragment(l, op.getLhs(), lhs, operandCoord(at, at[rank - 2], i), 4, bits, lhsWords);
      Values c =
          fragment(l, op.getRhs(), rhs, operandCoord(at, i, at[rank - 1]), 2, bits, rhsWords);
      llvm::copy(instruction(a, c, ValueList(result).slice(reg, 4)), result.begin() + reg);
    }
  l.set(op, result);
  return success();
}

LogicalResult lowerDot(Lowering &l, DotOp op) {
  const MmaKind kind = op.getMma() ? op.getMma()->getKind() : MmaKind::Fma;
  if (kind == MmaKind::Wgmma)
    return op.emitError("the operands of a wgmma are registers: `nv-stage-operands` has not run");
  return kind == MmaKind::MmaSync ? lowerMmaSync(l, op) : lowerFma(l, op);
}
} // namespace

void lower::addDot(Handlers &h) { h.add<DotOp>(lowerDot); }
