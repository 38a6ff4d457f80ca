//===- ApproximateExp.cpp - approximate exponentials whose denormal results do not matter ---===//
// Needs: tiles without layouts.
// Gives: `math.exp` of fp32 becomes `math.exp2` of the scaled operand if denormal results do not
//        matter. `math.exp2` gives 0 for results below 2^-126, and saves the three instructions per
//        element that denormals cost.
// How:   All uses of the result are followed through operations that only move or select elements.
//        A denormal does not matter to these uses:
//        1. The sum with a large constant, as in 1 + exp(-x).
//        2. The truncation to a format without such numbers. bf16 has them.
//        3. If the result is the weights of a softmax, exp(x - max(x)): the sum of the weights, and
//           a dot that multiplies them. One of the weights is 1, next to which a denormal vanishes.
//        4. The same with a running maximum, exp(x - max(max(x), before)). The weight of 1 may then
//           be in another tile, so the sum of a tile must only be added to the previous sum.
//===----------------------------------------------------------------------------------------===//
#include "ir/Combine.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_APPROXIMATEEXP
#include "passes/Passes.h.inc"
namespace {

/// What is known about an exponential's operand.
enum class Weight {
  Any,
  BelowMaximum, ///< x - max(x)
  BelowRunning, ///< x - max(max(x), before)
};

bool onlyMoves(Operation *op) {
  return isa<SplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, ConvertLayoutOp>(op);
}

Value skipMoves(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!onlyMoves(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isMaximumOf(Value value, Value of) {
  auto reduce = skipMoves(value).getDefiningOp<ReduceOp>();
  return reduce && combinesBy<arith::MaximumFOp, arith::MaxNumFOp>(reduce) &&
         skipMoves(reduce.getSrcs()[0]) == of;
}

Weight weightOf(math::ExpOp exp) {
  auto difference = exp.getOperand().getDefiningOp<arith::SubFOp>();
  if (!difference)
    return Weight::Any;
  Value x = skipMoves(difference.getLhs()), top = skipMoves(difference.getRhs());
  if (isMaximumOf(top, x))
    return Weight::BelowMaximum;
  Operation *op = top.getDefiningOp();
  const bool isRunning =
      op && isa<arith::MaximumFOp, arith::MaxNumFOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value value) { return isMaximumOf(value, x); });
  return isRunning ? Weight::BelowRunning : Weight::Any;
}

/// Whether `value` is a constant of which 2^-126 is less than half a unit in the last place.
bool isLargeConstant(Value value) {
  constexpr double least = 0x1p-90;
  DenseElementsAttr dense;
  if (matchPattern(skipMoves(value), m_Constant(&dense)))
    return dense.isSplat() && abs(dense.getSplatValue<APFloat>().convertToDouble()) >= least;
  FloatAttr number;
  return matchPattern(skipMoves(value), m_Constant(&number)) &&
         std::abs(number.getValueAsDouble()) >= least;
}

class FlushCheck {
public:
  explicit FlushCheck(Weight weight) : weight(weight) {}

  /// Whether all uses give the same for a denormal `value` as for 0.
  bool holds(Value value) const {
    return !value.use_empty() &&
           llvm::all_of(value.getUses(), [&](OpOperand &use) { return holds(use); });
  }

private:
  bool holds(OpOperand &use) const {
    Operation *user = use.getOwner();
    if (onlyMoves(user) || (isa<arith::SelectOp>(user) && use.getOperandNumber() > 0))
      return holds(user->getResult(0));
    if (isa<arith::AddFOp>(user))
      return isLargeConstant(user->getOperand(1 - use.getOperandNumber()));
    if (auto cut = dyn_cast<arith::TruncFOp>(user))
      return !elementTypeOf(cut.getType()).isBF16() || isFactor(cut.getResult());
    if (auto reduce = dyn_cast<ReduceOp>(user))
      return combinesBy<arith::AddFOp>(reduce) && isSum(reduce.getResult(0));
    return isFactorOf(user, use.get());
  }

  bool isSum(Value sum) const {
    if (weight == Weight::BelowMaximum)
      return true;
    return weight == Weight::BelowRunning &&
           llvm::all_of(sum.getUsers(), llvm::IsaPred<arith::AddFOp>);
  }

  bool isFactor(Value value) const {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return onlyMoves(user) ? isFactor(user->getResult(0)) : isFactorOf(user, value);
    });
  }

  bool isFactorOf(Operation *user, Value value) const {
    auto dot = dyn_cast<DotOp>(user);
    return weight != Weight::Any && dot && dot.getAcc() != value;
  }

  Weight weight;
};

struct ApproximateExpPass : impl::ApproximateExpBase<ApproximateExpPass> {
  void runOnOperation() override {
    SmallVector<math::ExpOp> found;
    getOperation().walk([&](math::ExpOp exp) {
      if (elementTypeOf(exp.getType()).isF32() && FlushCheck(weightOf(exp)).holds(exp.getResult()))
        found.push_back(exp);
    });
    if (found.empty())
      return markAllAnalysesPreserved();
    for (math::ExpOp exp : found)
      rewrite(exp);
  }

private:
  void rewrite(math::ExpOp exp) {
    constexpr double log2OfE = 1.4426950408889634;
    OpBuilder builder(exp);
    const Location loc = exp.getLoc();
    TypedAttr factor = builder.getF32FloatAttr(log2OfE);
    if (auto tile = dyn_cast<ShapedType>(exp.getType()))
      factor = DenseElementsAttr::get(tile, ArrayRef<Attribute>(factor));
    Value scale = arith::ConstantOp::create(builder, loc, factor);
    Value scaled = arith::MulFOp::create(builder, loc, exp.getOperand(), scale);
    exp.replaceAllUsesWith(math::Exp2Op::create(builder, loc, scaled).getResult());
    exp.erase();
  }
};
} // namespace
} // namespace pantile
