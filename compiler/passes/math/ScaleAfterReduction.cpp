//===- ScaleAfterReduction.cpp - reduce tiles before they are scaled ----------------------===//
// Needs: all tensor maps are made: a launch tests the condition with those of one of them.
// Gives: in a softmax of scaled scores, the maximum of `x * c` along a dimension is the maximum of
//        `x`, times `c`. What else reads `x * c` subtracts from it, by the same instruction. That
//        saves one multiplication per score.
// How:   legality, in this one place.
//        1. `c` is an fp32 argument of the kernel, or one times a constant from 2^-32 to 2^32. The
//           argument is from 2^-64 to 2^64: this becomes a condition of a tensor map. Where it does
//           not hold, the launch runs the plain variant, which has no tensor maps. So `c` is
//           positive, finite and normal.
//        2. Multiplication by such a number, rounded, is monotone, and keeps infinities and NaN. So
//           it commutes with maxima, and with a selection between a product and an infinity, which
//           masks scores.
//        3. All other uses of the product are subtractions from it, one of them of what is computed
//           from the maximum. So no element is multiplied twice, and the kernel is one whose scale is
//           positive: with a negative one it would run without TMA.
//===--------------------------------------------------------------------------------------===//
#include "ir/Combine.h"
#include "ir/FindOps.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SCALEAFTERREDUCTION
#include "passes/Passes.h.inc"
namespace {

/// The bits of an fp32 power of two. Bits of positive numbers are in the order of the numbers.
int64_t bitsOfPower(int exponent) { return int64_t(exponent + 127) << 23; }

/// The argument that makes a positive scale: `value` itself, or a factor of it next to a constant.
/// Null for all other values.
BlockArgument argumentOfScale(Value value, func::FuncOp kernel) {
  auto isArgument = [&](Value factor) {
    auto argument = dyn_cast<BlockArgument>(factor);
    return argument && argument.getOwner() == &kernel.front() && argument.getType().isF32();
  };
  if (isArgument(value))
    return cast<BlockArgument>(value);
  auto product = value.getDefiningOp<arith::MulFOp>();
  APFloat number(0.0f);
  if (!product || !isArgument(product.getLhs()) ||
      !matchPattern(product.getRhs(), m_ConstantFloat(&number)) || !value.getType().isF32())
    return {};
  const int64_t bits = number.bitcastToAPInt().getSExtValue();
  const bool isModerate = bits >= bitsOfPower(-32) && bits <= bitsOfPower(32);
  return isModerate ? cast<BlockArgument>(product.getLhs()) : BlockArgument();
}

/// The tensor map of `kernel` that is to have a condition on `argument`, with the fewest arguments,
/// since a launch compares them with those of the launch before; null if there is none in use.
nv::TensorMapOp mapForCondition(func::FuncOp kernel) {
  nv::TensorMapOp best;
  size_t fewest = SIZE_MAX;
  for (auto made : opsIn<nv::TensorMapOp>(kernel)) {
    llvm::SmallBitVector read(kernel.getNumArguments() + 3);
    for (AffineMap map : {made.getOffset(), made.getExtents(), made.getStrides(),
                          made.getConditions().value_or(AffineMap::get(made.getContext()))})
      map.walkExprs([&](AffineExpr expr) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
          read.set(symbol.getPosition());
      });
    if (!made->use_empty() && read.count() < fewest)
      best = made, fewest = read.count();
  }
  return best;
}

/// Has launches test that `argument` is from 2^-64 to 2^64, by its bits.
void addCondition(nv::TensorMapOp made, func::FuncOp kernel, BlockArgument argument) {
  SmallVector<AffineExpr> results;
  if (made.getConditions())
    llvm::append_range(results, made.getConditions()->getResults());
  const AffineExpr bits = getAffineSymbolExpr(argument.getArgNumber(), made.getContext());
  results.push_back(bits - bitsOfPower(-64));
  results.push_back(bits * -1 + bitsOfPower(64));
  const unsigned symbols = kernel.getNumArguments() + 3;
  made.setConditions(AffineMap::get(0, symbols, results, made.getContext()));
}

/// A reduced tile that is scaled, and perhaps masked after that.
struct ScaledTile {
  Value product; ///< `x * c`, or the selection between it and an infinity
  Value x, c;    ///< the tile, and the scalar
  arith::SelectOp mask;
};

bool isInfinity(Value value) {
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isInfinity();
}

std::optional<ScaledTile> matchProduct(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !getElementTypeOrSelf(value.getType()).isF32())
    return std::nullopt;
  for (bool isLeft : {false, true})
    if (auto scale = product->getOperand(isLeft ? 0 : 1).getDefiningOp<SplatOp>())
      return ScaledTile{value, product->getOperand(isLeft ? 1 : 0), scale.getSrc(), {}};
  return std::nullopt;
}

std::optional<ScaledTile> matchScaled(Value value) {
  auto mask = value.getDefiningOp<arith::SelectOp>();
  if (!mask)
    return matchProduct(value);
  for (bool isTrue : {true, false}) {
    Value chosen = isTrue ? mask.getTrueValue() : mask.getFalseValue();
    Value other = isTrue ? mask.getFalseValue() : mask.getTrueValue();
    std::optional<ScaledTile> found = isInfinity(other) ? matchProduct(chosen) : std::nullopt;
    if (found && found->product.hasOneUse()) {
      found->product = value, found->mask = mask;
      return found;
    }
  }
  return std::nullopt;
}

/// The factors of the products that a kernel reduces.
class Scaling {
public:
  Scaling(func::FuncOp kernel, nv::TensorMapOp map) : kernel(kernel), map(map) {}

  bool run() {
    for (ReduceOp reduce : opsIn<ReduceOp>(kernel))
      if (combinesBy<arith::MaximumFOp, arith::MaxNumFOp>(reduce))
        if (std::optional<ScaledTile> tile = matchScaled(reduce.getSrcs()[0]))
          if (isSubtractedFrom(tile->product, reduce) && isPositive(tile->c))
            scaleAfter(reduce, *tile);
    return tested.has_value();
  }

private:
  /// Whether what reads `product` next to `reduce` subtracts from it, and once the maximum.
  static bool isSubtractedFrom(Value product, ReduceOp reduce) {
    bool isFound = false;
    for (Operation *user : product.getUsers()) {
      auto below = dyn_cast<arith::SubFOp>(user);
      if (user != reduce && (!below || below.getLhs() != product))
        return false;
      isFound |= below && comesFrom(below.getRhs(), reduce);
    }
    return isFound;
  }

  static bool comesFrom(Value value, ReduceOp reduce) {
    bool isFound = false;
    traceBack(value, [&](Value next) {
      isFound |= next.getDefiningOp() == reduce;
      return !isFound && next.getParentBlock() == reduce->getBlock();
    });
    return isFound;
  }

  /// Whether `c` is positive where the condition of the launch holds. There is one for the kernel.
  bool isPositive(Value c) {
    BlockArgument argument = argumentOfScale(c, kernel);
    if (!argument || (tested && *tested != argument.getArgNumber()))
      return false;
    if (!tested)
      addCondition(map, kernel, argument);
    tested = argument.getArgNumber();
    return true;
  }

  static void scaleAfter(ReduceOp reduce, ScaledTile tile) {
    remarkApplied(tile.product.getLoc(), Technique::Other)
        << "the tile is scaled after it is reduced: launches test that the scale is positive";
    if (tile.mask)
      tile.x = maskBeforeScale(tile);
    reduce->setOperand(0, tile.x);
    OpBuilder b(reduce->getContext());
    b.setInsertionPointAfter(reduce);
    Value reduced = reduce.getResult(0);
    auto type = dyn_cast<RankedTensorType>(reduced.getType()); // none of a whole tile's maximum
    const Location loc = reduce.getLoc();
    Value scale = type ? SplatOp::create(b, loc, type, tile.c).getResult() : tile.c;
    Value scaled = arith::MulFOp::create(b, loc, reduced, scale);
    reduced.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }

  /// Exchanges the product and the selection after it; returns the selection.
  static Value maskBeforeScale(const ScaledTile &tile) {
    arith::SelectOp mask = tile.mask;
    const bool isTrue = isInfinity(mask.getFalseValue());
    Value product = isTrue ? mask.getTrueValue() : mask.getFalseValue();
    auto multiply = product.getDefiningOp<arith::MulFOp>();
    multiply->moveAfter(mask);
    mask.getResult().replaceAllUsesWith(product);
    mask->setOperand(isTrue ? 1 : 2, tile.x);
    multiply->setOperand(multiply.getLhs() == tile.x ? 0 : 1, mask.getResult());
    return mask.getResult();
  }

  func::FuncOp kernel;
  nv::TensorMapOp map;
  std::optional<unsigned> tested; ///< the argument with the condition
};

struct ScaleAfterReductionPass : impl::ScaleAfterReductionBase<ScaleAfterReductionPass> {
  using ScaleAfterReductionBase::ScaleAfterReductionBase;
  void runOnOperation() override {
    bool changed = false;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (nv::TensorMapOp map = mapForCondition(kernel))
        changed |= Scaling(kernel, map).run();
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
