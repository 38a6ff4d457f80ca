//===- CombineFactors.cpp - multiply the factors of a tile before the tile ------------------===//
// Needs: tiles without layouts.
// Gives: `(x * a) * b` of fp32 becomes `x * (a * b)`, where `a` and `b` are repeated along an axis, or
//        scalars, as the scales of the rows and the columns of a quantised product are. A thread has many
//        elements of x and few of `a * b`, so each takes one multiplication instead of two, which
//        vanishes in the addition to a sum.
// How:   a product is rounded as often as before, in other places. If `a * b` is infinite or denormal,
//        where `(x * a) * b` is neither, the result differs by more: no compiler can exclude it, so the
//        pass runs by name alone.
//===--------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COMBINEFACTORS
#include "passes/Passes.h.inc"
namespace {

/// Whether many elements of `tile` are equal by how it is made.
bool isFactor(Value tile) {
  Operation *maker = tile.getDefiningOp();
  return maker && (isa<BroadcastOp, SplatOp>(maker) ||
                   (isa<arith::MulFOp>(maker) && llvm::all_of(maker->getOperands(), isFactor)));
}

/// The operands of a multiplication by a factor.
struct Scaled {
  Value tile, factor;
};

std::optional<Scaled> scaledBy(arith::MulFOp product) {
  for (auto [tile, factor] : {std::pair(product.getLhs(), product.getRhs()),
                              std::pair(product.getRhs(), product.getLhs())})
    if (isFactor(factor) && !isFactor(tile))
      return Scaled{tile, factor};
  return std::nullopt;
}

void combine(arith::MulFOp product) {
  if (!isa<RankedTensorType>(product.getType()) || !elementTypeOf(product.getType()).isF32())
    return;
  const std::optional<Scaled> outer = scaledBy(product);
  auto before = outer ? outer->tile.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  const std::optional<Scaled> inner =
      before && before->hasOneUse() ? scaledBy(before) : std::nullopt;
  if (!inner)
    return;
  OpBuilder builder(product);
  auto factor = arith::MulFOp::create(builder, product.getLoc(), inner->factor, outer->factor);
  product->setOperands({inner->tile, factor});
  before.erase();
}

struct CombineFactorsPass : impl::CombineFactorsBase<CombineFactorsPass> {
  void runOnOperation() override { getOperation().walk(combine); }
};
} // namespace
} // namespace pantile
