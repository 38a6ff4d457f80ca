//===- LowerDotFp64.cpp - dots of fp64 on tensor cores ----------------------------------------===//
// Needs: operands and accumulator in the fragments of LinearLayout::mmaFp64A, B and Accumulator.
// Gives: the accumulator's registers.
// How:   Each element of a fragment is a register, looked up by coordinate. The sum over K may be
//        taken in any order, and the rows of a fragment may be any eight. It is enough that A and B
//        have the same K in the same lanes, A and the accumulator the same rows, B and the
//        accumulator the same columns (holdSameCoordinates). If the tile has fewer rows or columns
//        than the instruction, some registers are absent: they are zeros as operands, and dropped
//        as results.
//===-------------------------------------------------------------------------------------===//
#include "lower/Fp64Mma.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using Coord = LinearLayout::Coord;

/// One mma.sync of fp64.
class Fp64Instruction {
public:
  Fp64Instruction(Lowering &l, int m, int k) : l(l), sums(m / 4) {
    const int left = m * k / 32, right = k / 4;
    asmString = "mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k) +
                ".row.col.f64.f64.f64.f64 ";
    int next = 0;
    for (int count : {sums, left, right, sums}) {
      asmString += next ? ", {" : "{";
      for (int i = 0; i < count; ++i)
        asmString += (i ? ", $" : "$") + std::to_string(next++);
      asmString += "}";
    }
    asmString += ";";
    for (int i = 0; i < sums; ++i)
      constraints += "=d,";
    for (int i = 0; i < left + right + sums; ++i)
      constraints += i ? ",d" : "d";
  }

  Values operator()(ValueList a, ValueList b, ValueList sum) {
    Values operands(a);
    operands.append(b.begin(), b.end());
    operands.append(sum.begin(), sum.end());
    auto *type = llvm::StructType::get(l.module.getContext(),
                                       llvm::SmallVector<llvm::Type *>(sums, l.b.getDoubleTy()));
    return l.results(l.assembly(type, asmString, constraints, operands, true), sums);
  }

private:
  Lowering &l;
  const int sums;
  std::string asmString, constraints;
};

/// Whether the lanes of the operands and of the accumulator match the instruction: lane bits 1 and
/// 2 are K and columns of the result, lane bits 4, 8 and 16 are rows, and columns of B.
bool holdSameCoordinates(const LinearLayout &lhs, const LinearLayout &rhs,
                         const LinearLayout &acc) {
  const int m = acc.rank() - 2, n = acc.rank() - 1;
  const int odd = acc.shape()[n] >= 2 ? acc.reg()[0][n] : 0;
  const int columns[] = {odd, acc.lane()[0][n], acc.lane()[1][n]};
  bool same = true;
  for (int i = 0; i < 5; ++i)
    same &= lhs.lane()[i][n] == rhs.lane()[i][m] && lhs.lane()[i][m] == acc.lane()[i][m];
  for (int i = 0; i < 3; ++i)
    same &= rhs.lane()[2 + i][n] == columns[i];
  return same && rhs.lane()[0][n] == 0 && rhs.lane()[1][n] == 0;
}

/// Emits one dot as mma.sync instructions.
class Fp64Dot {
public:
  Fp64Dot(Lowering &l, DotOp op)
      : l(l), left(l.layout(op.getLhs().getType())), right(l.layout(op.getRhs().getType())),
        acc(l.layout(op.getType())), a(l.get(op.getLhs())), b(l.get(op.getRhs())),
        m(acc.rank() - 2), n(acc.rank() - 1), depth(static_cast<int>(left.shape()[n])),
        step(std::min(depth, 16)), halves(acc.shape()[m] >= 16 ? 2 : 1),
        columns(acc.shape()[n] >= 2 ? 2 : 1), isLarge(op.getMma()->getM() == 16),
        perInstruction(static_cast<int>(op.getMma()->getK()) / 4),
        instruction(l, op.getMma()->getM(), op.getMma()->getK()) {}

  /// Whether the fragments have the layout of the instruction.
  bool fits(MmaAttr mma) const {
    const bool isKnown = isLarge ? halves == 2 && step % static_cast<int>(mma.getK()) == 0
                                 : mma.getM() == 8 && mma.getK() == 4;
    return isKnown && depth % 4 == 0 && holdSameCoordinates(left, right, acc) &&
           offsetsOfK(left, n) == offsetsOfK(right, m) &&
           offsetsOfK(left, n).size() * 4 == static_cast<size_t>(step);
  }

  /// Emits the instructions with K outermost: few operands are live at once.
  Values run(ValueList sums) {
    Values result(sums);
    const SmallVector<int, 4> offsets = offsetsOfK(left, n);
    for (int k = 0; k < depth; k += step)
      for (size_t i = 0; i < offsets.size(); i += perInstruction)
        for (int reg = 0; reg < acc.numRegs(); reg += halves * columns)
          if (acc.isPresent(reg))
            multiply(k, ArrayRef(offsets).slice(i, perInstruction), acc.apply(reg, 0, 0),
                     llvm::MutableArrayRef(result).slice(reg, halves * columns));
    return result;
  }

private:
  /// The elements of the first lane within the first `step` along dimension `k`.
  SmallVector<int, 4> offsetsOfK(const LinearLayout &layout, int k) const {
    SmallVector<int, 4> offsets;
    for (int offset = 0; offset < step; ++offset) {
      Coord coord(layout.rank(), 0);
      coord[k] = offset;
      if (layout.registerOf(coord, 0, 0))
        offsets.push_back(offset);
    }
    return offsets;
  }

  /// The first lane's element at `row`, `column` of the batch of `at`.
  llvm::Value *element(const LinearLayout &layout, ValueList values, Coord at, int row,
                       int column) const {
    at[m] = row;
    at[n] = column;
    return values[*layout.registerOf(at, 0, 0)];
  }

  /// Adds the products of `offsets` from `k` on to one fragment of the accumulator, whose first
  /// element is `at`.
  void multiply(int k, ArrayRef<int> offsets, const Coord &at,
                llvm::MutableArrayRef<llvm::Value *> own) {
    SmallVector<Values, 2> rows(halves);
    Values column;
    for (int offset : offsets) {
      for (int half = 0; half < halves; ++half)
        rows[half].push_back(element(left, a, at, at[m] + 8 * half, k + offset));
      column.push_back(element(right, b, at, k + offset, at[n]));
    }
    if (isLarge)
      return multiplyLarge(rows[0], rows[1], column, own);
    for (int half = 0; half < halves; ++half) {
      auto sums = own.slice(half * columns, columns);
      keep(instruction(rows[half], column, complete(sums)), sums);
    }
  }

  /// The instruction's own order of A: the two halves of the rows alternate.
  void multiplyLarge(ValueList upperRows, ValueList lowerRows, ValueList column,
                     llvm::MutableArrayRef<llvm::Value *> own) {
    Values fragment;
    for (auto [upper, lower] : llvm::zip_equal(upperRows, lowerRows))
      fragment.append({upper, lower});
    Values sums = complete(own.take_front(columns));
    sums.append(complete(own.take_back(columns)));
    const Values made = instruction(fragment, column, sums);
    keep(ValueList(made).take_front(2), own.take_front(columns));
    keep(ValueList(made).take_back(2), own.take_back(columns));
  }

  /// Two consecutive columns of one row, and which of them the tile has.
  Values complete(ValueList own) const {
    return {own[0], columns == 2 ? own[1] : llvm::ConstantFP::get(own[0]->getType(), 0.0)};
  }
  void keep(ValueList pair, llvm::MutableArrayRef<llvm::Value *> own) const {
    for (auto [sum, made] : llvm::zip(own, pair))
      sum = made;
  }

  Lowering &l;
  const LinearLayout &left, &right, &acc;
  ValueList a, b;
  const int m, n; // the last two dimensions
  const int depth, step, halves, columns;
  const bool isLarge;
  const int perInstruction; // elements of B
  Fp64Instruction instruction;
};
} // namespace

LogicalResult lower::lowerFp64Mma(Lowering &l, DotOp op) {
  Fp64Dot dot(l, op);
  if (!dot.fits(*op.getMma()))
    return op.emitError("the fragments of this dot are not those of its instruction");
  l.set(op, dot.run(l.get(op.getAcc())));
  return success();
}
