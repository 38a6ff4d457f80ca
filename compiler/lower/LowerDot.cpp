//===- LowerDot.cpp - dots of register tiles: mma.sync ----------------------------------------===//
// Needs: operands in the fragments of the instruction.
// Gives: the accumulator's registers.
// How:   The register of an element is looked up by coordinate, so any order of repetition works.
//        The fragments of one mma.sync are consecutive registers (LinearLayout.h). If the tile has
//        fewer rows or columns than the instruction, some registers are absent: they are zeros as
//        operands, and dropped as results.
//===-----------------------------------------------------------------------------------===//
#include "lower/Fp64Mma.h"
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

/// The PTX type, such as "f16"; empty if no tensor core multiplies it.
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

/// One mma.sync on 32-bit registers; `acc` is four accumulators.
class MmaSync {
public:
  MmaSync(Lowering &l, Type lhs, Type rhs, Type acc, int m, int n, int k) : l(l) {
    accType = l.type(acc);
    packed = accType->isHalfTy();
    const std::string accName = packed ? "f16" : accType->isIntegerTy() ? "s32" : "f32";
    const char constraint = packed || accType->isIntegerTy() ? 'r' : 'f';
    const int accWords = packed ? 2 : 4, aWords = 4, bWords = 2;
    asmString = "mma.sync.aligned.m" + std::to_string(m) + "n" + std::to_string(n) + "k" +
                std::to_string(k) + ".row.col" + "." + accName + "." + mmaTypeName(lhs).str() +
                "." + mmaTypeName(rhs).str() + "." + accName + " ";
    int next = 0;
    auto list = [&](int count) {
      asmString += "{";
      for (int i = 0; i < count; ++i)
        asmString += (i ? ", $" : "$") + std::to_string(next++);
      asmString += "}";
    };
    for (int count : {accWords, aWords, bWords, accWords}) {
      asmString += next ? ", " : "";
      list(count);
    }
    asmString += ";";
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
    Values result = l.results(l.assembly(type, asmString, constraints, operands, true), words);
    return packed ? l.unpack(result, accType, 16, 4) : result;
  }

private:
  Lowering &l;
  llvm::Type *accType;
  bool packed;
  int words;
  std::string asmString, constraints;
};

/// Which registers of a fragment are present: those of the second half of its rows, and those of
/// odd columns, only if the tile has such.
struct Fragment {
  bool hasLowerRows, hasOddColumns;

  Fragment(const LinearLayout &acc)
      : hasLowerRows(acc.hull()[acc.rank() - 2] >= 16),
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

/// How fp32 operands are multiplied by narrower instructions: each is split into a sum of terms
/// that are exact in the narrow type. Source: Henry, Tang, Heinecke, "Leveraging the bfloat16
/// datatype for higher-precision computations", arXiv:1904.06376.
struct Splitting {
  int parts = 1;
  uint32_t kept = 0; ///< mask of the bits of an fp32 number that a term keeps
  bool isBf16 = false;
  /// The products of terms (of lhs, of rhs), small ones first.
  SmallVector<std::pair<int, int>, 6> products;

  Splitting(DotOp op) {
    if (!elementTypeOf(op.getLhs().getType()).isF32() || op.getPrecision() == Precision::Tf32)
      return;
    isBf16 = op.getPrecision() != Precision::Tf32x3;
    kept = isBf16 ? 0xffff0000 : 0xffffe000;
    parts = op.getPrecision() == Precision::Bf16x6 ? 3 : 2;
    if (parts == 3)
      products = {{1, 1}, {2, 0}, {0, 2}};
    products.append({{1, 0}, {0, 1}, {0, 0}});
  }
};

/// An operand's fragments, each packed into words once; fp32 is rounded to tf32, or split.
class OperandWords {
public:
  /// `perWord`: elements of the instruction's type per 32-bit register.
  OperandWords(Lowering &l, Value value, int perWord)
      : l(l), layout(l.layout(value.getType())), elements(l.get(value)), perWord(perWord) {}

  Values at(const Coord &coord, int words) {
    const int first = *layout.registerOf(coord, 0, 0);
    auto [it, isNew] = known.try_emplace(first);
    if (!isNew)
      return it->second;
    Values own = elementsAt(first, words);
    if (own[0]->getType()->isFloatTy())
      for (llvm::Value *&element : own)
        element = roundToTf32(element);
    return it->second = packed(own);
  }

  /// The packed registers of each term. Where the number is not finite, `finite`, the first term,
  /// and the other terms are 0, so that no infinities of their products cancel.
  struct Parts {
    SmallVector<Values, 3> words;
    Values finite;
  };
  const Parts &partsAt(const Coord &coord, int words, const Splitting &splitting) {
    const int first = *layout.registerOf(coord, 0, 0);
    auto [it, isNew] = split.try_emplace(first);
    Parts &parts = it->second;
    if (!isNew)
      return parts;
    auto &b = l.b;
    llvm::Value *zero = llvm::ConstantFP::get(b.getFloatTy(), 0.0);
    SmallVector<Values, 3> numbers(splitting.parts);
    Values finite;
    for (llvm::Value *element : elementsAt(first, words)) {
      llvm::Value *high = keep(element, splitting.kept);
      llvm::Value *rest = b.CreateFSub(element, high);
      llvm::Value *isFinite = b.CreateFCmpORD(rest, rest);
      rest = b.CreateSelect(isFinite, rest, zero);
      numbers[0].push_back(high);
      finite.push_back(b.CreateSelect(isFinite, high, zero));
      for (int i = 1; i < splitting.parts; ++i) {
        llvm::Value *part = i + 1 < splitting.parts ? keep(rest, splitting.kept) : rest;
        numbers[i].push_back(part);
        rest = b.CreateFSub(rest, part);
      }
    }
    for (Values &part : numbers)
      parts.words.push_back(narrowed(part, splitting));
    parts.finite = narrowed(finite, splitting);
    return parts;
  }

private:
  Values elementsAt(int first, int words) const {
    return Values(elements.slice(first, words * perWord));
  }
  llvm::Value *keep(llvm::Value *number, uint32_t bits) {
    llvm::Value *kept =
        l.b.CreateAnd(l.b.CreateBitCast(number, l.b.getInt32Ty()), l.b.getInt32(bits));
    return l.b.CreateBitCast(kept, number->getType());
  }
  llvm::Value *roundToTf32(llvm::Value *number) {
    return l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_f2tf32_rna, {number});
  }
  Values packed(ValueList numbers) {
    Values words;
    for (size_t i = 0; i < numbers.size(); i += perWord)
      words.append(l.pack(numbers.slice(i, perWord), 32 / perWord));
    return words;
  }
  Values narrowed(ValueList numbers, const Splitting &splitting) {
    Values narrow;
    for (llvm::Value *number : numbers)
      narrow.push_back(splitting.isBf16 ? l.b.CreateFPTrunc(number, l.b.getBFloatTy())
                                        : roundToTf32(number));
    return packed(narrow);
  }

  Lowering &l;
  const LinearLayout &layout;
  ValueList elements;
  const int perWord;
  std::map<int, Values> known;
  std::map<int, Parts> split;
};

/// Emits one dot as mma.sync instructions.
class MmaSyncDot {
public:
  MmaSyncDot(Lowering &l, DotOp op)
      : l(l), acc(l.layout(op.getType())), rank(acc.rank()), fragment(acc), splitting(op),
        step(op.getMma()->getK()), steps(stepsOf(l.layout(op.getRhs().getType()), step)),
        instruction(l, operandType(op.getLhs()), operandType(op.getRhs()),
                    elementTypeOf(op.getType()), op.getMma()->getM(), op.getMma()->getN(), step),
        lhs(l, op.getLhs(), step / 8), rhs(l, op.getRhs(), step / 8) {}

  Values run(ValueList sums) {
    Values result(sums);
    for (int k : steps)
      for (int reg = 0; reg < acc.numRegs(); reg += fragment.registers()) {
        if (!acc.isPresent(reg))
          continue;
        const Coord at = acc.apply(reg, 0, 0);
        const Coord row = operandCoord(at, at[rank - 2], k),
                    column = operandCoord(at, k, at[rank - 1]);
        llvm::MutableArrayRef<llvm::Value *> own(result.begin() + reg, fragment.registers());
        const Values sum = fragment.complete(own);
        fragment.keep(splitting.parts > 1 ? splitProducts(row, column, sum)
                                          : oneProduct(row, column, sum),
                      own);
      }
    return result;
  }

private:
  /// The lowest K of each MMA. Fragments of B are consecutive registers.
  static SmallVector<int> stepsOf(const LinearLayout &right, int step) {
    SmallVector<int> steps;
    const int ofFragment = step / 4;
    for (int reg = 0; reg < right.numRegs(); reg += ofFragment) {
      const Coord at = right.apply(reg, 0, 0);
      const int k = at[at.size() - 2];
      const bool isFirst = llvm::count(at, 0) + (k != 0) == static_cast<int>(at.size());
      if (isFirst && k < right.shape()[at.size() - 2])
        steps.push_back(k);
    }
    return steps;
  }
  Type operandType(Value operand) const {
    const Type element = elementTypeOf(operand.getType());
    return splitting.isBf16 ? BFloat16Type::get(element.getContext()) : element;
  }
  int leftWords() const { return fragment.hasLowerRows ? 4 : 2; }
  Values completeLeft(ValueList words) const {
    llvm::Value *none = l.b.getInt32(0);
    return fragment.hasLowerRows ? Values(words) : Values{words[0], none, words[1], none};
  }

  Values oneProduct(const Coord &row, const Coord &column, ValueList sum) {
    return instruction(completeLeft(lhs.at(row, leftWords())), rhs.at(column, 2), sum);
  }

  /// Tensor cores truncate sums instead of rounding them, so the products of one step are
  /// accumulated separately and added to the accumulator with rounding.
  Values splitProducts(const Coord &row, const Coord &column, ValueList sum) {
    const auto &a = lhs.partsAt(row, leftWords(), splitting),
               &c = rhs.partsAt(column, 2, splitting);
    Values part(4, llvm::ConstantFP::get(l.b.getFloatTy(), 0.0));
    for (auto [i, j] : splitting.products) {
      const bool isLargest = i == 0 && j == 0;
      const Values &x = i == 0 && !isLargest ? a.finite : a.words[i],
                   &y = j == 0 && !isLargest ? c.finite : c.words[j];
      part = instruction(completeLeft(x), y, part);
    }
    for (auto [product, old] : llvm::zip_equal(part, sum))
      product = l.b.CreateFAdd(old, product);
    return part;
  }

  Lowering &l;
  const LinearLayout &acc;
  const int rank;
  const Fragment fragment;
  const Splitting splitting;
  const int step;
  const SmallVector<int> steps;
  MmaSync instruction;
  OperandWords lhs, rhs;
};

LogicalResult lowerMmaSync(Lowering &l, DotOp op) {
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (Type element = elementTypeOf(operand.getType()); mmaTypeName(element).empty())
      return op.emitError("tensor cores do not multiply ") << element;
  l.set(op, MmaSyncDot(l, op).run(l.get(op.getAcc())));
  return success();
}

LogicalResult lowerDot(Lowering &l, DotOp op) {
  if (!op.getMma() || op.getMma()->getKind() != MmaKind::MmaSync)
    return op.emitError("the operands of this dot are registers: `nv-stage-operands` has not run");
  return elementTypeOf(op.getType()).isF64() ? lowerFp64Mma(l, op) : lowerMmaSync(l, op);
}
} // namespace

void lower::addDot(Handlers &h) { h.add<DotOp>(lowerDot); }
