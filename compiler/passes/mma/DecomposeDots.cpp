//===- DecomposeDots.cpp - products that no single instruction makes ----------===//
// Needs: tile IR without layouts; the module names its target.
// Gives: fp32 dots of precision tf32x3, bf16x3 and bf16x6 are sums of tf32 or bf16 dots; fp8
//        operands without a fitting instruction are fp16.
// How:   an fp32 number is cut into parts, each exact in the narrow type and smaller than the one
//        before. The products of small parts are added up first. A part of an infinite number is
//        NaN, and so is what it is multiplied with, so that sum counts only where it is finite:
//        the product of the largest parts alone is right there. Source of the splitting: Henry,
//        Tang, Heinecke, "Leveraging the bfloat16 datatype for higher-precision computations",
//        arXiv:1904.06376.
//===--------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

#include <limits>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_DECOMPOSEDOTS
#include "passes/Passes.h.inc"

namespace {

using Parts = SmallVector<Value, 3>;
/// Numbers of the parts that one product takes from lhs and rhs.
using Pairs = ArrayRef<std::pair<int, int>>;

/// Bits of an fp32 number that tf32 keeps: sign, exponent and 10 of the fraction.
constexpr uint32_t tf32Bits = 0xffffe000;

class Decomposer {
public:
  explicit Decomposer(DotOp dot) : dot(dot), b(dot), loc(dot.getLoc()) {}

  void threeTf32() {
    Parts lhs = tf32Parts(dot.getLhs()), rhs = tf32Parts(dot.getRhs());
    replaceBy(lhs, rhs, {{1, 0}, {0, 1}});
  }
  void bf16(int parts) {
    Parts lhs = bf16Parts(dot.getLhs(), parts), rhs = bf16Parts(dot.getRhs(), parts);
    if (parts == 2)
      replaceBy(lhs, rhs, {{1, 0}, {0, 1}});
    else
      replaceBy(lhs, rhs, {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}});
  }
  void widenOperands() {
    for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()})
      operand->set(
          arith::ExtFOp::create(b, loc, typed(operand->get(), b.getF16Type()), operand->get()));
  }

private:
  static RankedTensorType typed(Value value, Type element) {
    return cast<RankedTensorType>(value.getType()).clone(element);
  }
  Value splat(RankedTensorType type, Attribute value) {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, value));
  }

  Parts tf32Parts(Value value) {
    RankedTensorType words = typed(value, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, words, value);
    Value mask = splat(words, b.getI32IntegerAttr(static_cast<int32_t>(tf32Bits)));
    Value kept = arith::AndIOp::create(b, loc, bits, mask);
    Value high = arith::BitcastOp::create(b, loc, value.getType(), kept);
    return {high, arith::SubFOp::create(b, loc, value, high)};
  }

  Parts bf16Parts(Value value, int count) {
    Parts parts;
    for (Value rest = value; count > 0; --count) {
      Value part = arith::TruncFOp::create(b, loc, typed(value, b.getBF16Type()), rest);
      parts.push_back(part);
      if (count > 1) {
        Value back = arith::ExtFOp::create(b, loc, value.getType(), part);
        rest = arith::SubFOp::create(b, loc, rest, back);
      }
    }
    return parts;
  }

  Value product(Value lhs, Value rhs, Value acc) {
    return DotOp::create(b, loc, acc.getType(), lhs, rhs, acc, Precision::Tf32, 0, MmaAttr());
  }

  Value zeroWhereNotFinite(Value sum) {
    auto type = cast<RankedTensorType>(sum.getType());
    Value infinity = splat(type, b.getF32FloatAttr(std::numeric_limits<float>::infinity()));
    Value size = math::AbsFOp::create(b, loc, sum);
    Value finite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, size, infinity);
    return arith::SelectOp::create(b, loc, finite, sum, splat(type, b.getF32FloatAttr(0)));
  }

  void replaceBy(const Parts &lhs, const Parts &rhs, Pairs corrections) {
    Value sum = splat(dot.getType(), b.getF32FloatAttr(0));
    for (auto [i, j] : corrections)
      sum = product(lhs[i], rhs[j], sum);
    sum = product(lhs[0], rhs[0], zeroWhereNotFinite(sum));
    dot.replaceAllUsesWith(arith::AddFOp::create(b, loc, sum, dot.getAcc()).getResult());
    dot.erase();
  }

  DotOp dot;
  OpBuilder b;
  Location loc;
};

void decompose(DotOp dot, const Target &target) {
  Type operand = elementTypeOf(dot.getLhs().getType());
  Decomposer decomposer(dot);
  if (isa<FloatType>(operand) && storageBits(operand) == 8) {
    if (!target.hasFp8Mma() || !dot.getType().getElementType().isF32())
      decomposer.widenOperands();
    return;
  }
  if (!operand.isF32() || !target.hasMmaSync())
    return;
  if (dot.getPrecision() == Precision::Tf32x3)
    decomposer.threeTf32();
  else if (dot.getPrecision() == Precision::Bf16x3)
    decomposer.bf16(2);
  else if (dot.getPrecision() == Precision::Bf16x6)
    decomposer.bf16(3);
}

struct DecomposeDotsPass : impl::DecomposeDotsBase<DecomposeDotsPass> {
  void runOnOperation() override {
    const auto target = Target::parse(moduleTarget(getOperation()));
    if (!target) {
      getOperation().emitError("unknown target `") << moduleTarget(getOperation()) << "`";
      return signalPassFailure();
    }
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) {
      if (!dot.getMmaAttr())
        dots.push_back(dot);
    });
    for (DotOp dot : dots)
      decompose(dot, *target);
  }
};

} // namespace
} // namespace pantile
