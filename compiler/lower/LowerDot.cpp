//===- LowerDot.cpp - products of register tiles: mma.sync ------------------------------------===//
// Needs: operands in the fragments of the instruction.
// Gives: the accumulator's registers.
// How:   the registers of an element are looked up by coordinate, so any order of repetition
//        works. The fragments of one mma.sync are neighbouring registers (LinearLayout.h). Of a
//        tile with less rows or columns than the instruction, the fragments lack registers: zeros
//        stand for them, and what comes out in their place is dropped.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
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
  MmaSync(Lowering &l, Type lhs, Type rhs, Type acc, int m, int n, int k) : l(l) {
    accType = l.type(acc);
    packed = accType->isHalfTy();
    const std::string accName = packed ? "f16" : accType->isIntegerTy() ? "s32" : "f32";
    const char constraint = packed || accType->isIntegerTy() ? 'r' : 'f';
    const int accWords = packed ? 2 : 4, aWords = 4, bWords = 2;
    text = "mma.sync.aligned.m" + std::to_string(m) + "n" + std::to_string(n) + "k" +
           std::to_string(k) + ".row.col" + "." + accName + "." + mmaTypeName(lhs).str() + "." +
           mmaTypeName(rhs).str() + "." + accName + " ";
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

/// Which registers of a fragment there are: those of the second half of its rows, and those of odd
/// columns, only if the tile has such.
struct Fragment {
  bool hasLowerRows, hasOddColumns;

  Fragment(const LinearLayout &acc)
      : hasLowerRows(acc.shape()[acc.rank() - 2] >= 16),
        hasOddColumns(acc.shape()[acc.rank() - 1] >= 2) {}
  int registers() const { return (hasLowerRows ? 2 : 1) * (hasOddColumns ? 2 : 1); }

  /// The register that accumulator `i` of the instruction is, counted from the fragment's first.
  std::optional<int> registerOf(int i) const {
    const int odd = i & 1, lower = i >> 1;
    if ((odd && !hasOddColumns) || (lower && !hasLowerRows))
      return std::nullopt;
    return odd + lower * (hasOddColumns ? 2 : 1);
  }
  Values complete(ValueList own) const {
    Values all;
    for (int i = 0; i < 4; ++i) {
      const std::optional<int> reg = registerOf(i);
      all.push_back(reg ? own[*reg] : llvm::Constant::getNullValue(own[0]->getType()));
    }
    return all;
  }
  void keep(ValueList all, llvm::MutableArrayRef<llvm::Value *> own) const {
    for (int i = 0; i < 4; ++i)
      if (const std::optional<int> reg = registerOf(i))
        own[*reg] = all[i];
  }
};

/// An operand's fragments, each packed into words once; fp32 is rounded to tf32.
class OperandWords {
public:
  OperandWords(Lowering &l, Value value)
      : l(l), layout(l.layout(value.getType())), elements(l.get(value)),
        bits(storageBits(elementTypeOf(value.getType()))) {}

  Values at(const Coord &coord, int words) {
    const int first = *layout.registerOf(coord, 0, 0);
    auto [it, isNew] = known.try_emplace(first);
    if (!isNew)
      return it->second;
    Values own(elements.slice(first, words * 32 / bits));
    if (own[0]->getType()->isFloatTy())
      for (llvm::Value *&element : own)
        element =
            l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_f2tf32_rna, {element});
    Values packed;
    for (size_t i = 0; i < own.size(); i += 32 / bits)
      packed.append(l.pack(ValueList(own).slice(i, 32 / bits), bits));
    return it->second = packed;
  }

private:
  Lowering &l;
  const LinearLayout &layout;
  ValueList elements;
  const unsigned bits;
  std::map<int, Values> known;
};

LogicalResult lowerMmaSync(Lowering &l, DotOp op) {
  const LinearLayout &acc = l.layout(op.getType());
  const MmaAttr mma = *op.getMma();
  const Type left = elementTypeOf(op.getLhs().getType()),
             right = elementTypeOf(op.getRhs().getType());
  for (Type element : {left, right})
    if (mmaTypeName(element).empty())
      return op.emitError("tensor cores do not multiply ") << element;
  const int rank = acc.rank(), step = mma.getK(),
            k = l.layout(op.getLhs().getType()).shape()[rank - 1];
  MmaSync instruction(l, left, right, elementTypeOf(op.getType()), mma.getM(), mma.getN(), step);
  const Fragment fragment(acc);
  OperandWords lhs(l, op.getLhs()), rhs(l, op.getRhs());
  llvm::Value *none = l.b.getInt32(0);
  Values result(l.get(op.getAcc()));
  for (int i = 0; i < k; i += step)
    for (int reg = 0; reg < acc.numRegs(); reg += fragment.registers()) {
      const Coord at = acc.apply(reg, 0, 0);
      Values a = lhs.at(operandCoord(at, at[rank - 2], i), fragment.hasLowerRows ? 4 : 2);
      if (!fragment.hasLowerRows)
        a = {a[0], none, a[1], none};
      Values c = rhs.at(operandCoord(at, i, at[rank - 1]), 2);
      llvm::MutableArrayRef<llvm::Value *> own(result.begin() + reg, fragment.registers());
      fragment.keep(instruction(a, c, fragment.complete(own)), own);
    }
  l.set(op, result);
  return success();
}

LogicalResult lowerDot(Lowering &l, DotOp op) {
  if (!op.getMma() || op.getMma()->getKind() != MmaKind::MmaSync)
    return op.emitError("the operands of this dot are registers: `nv-stage-operands` has not run");
  return lowerMmaSync(l, op);
}
} // namespace

void lower::addDot(Handlers &h) { h.add<DotOp>(lowerDot); }
