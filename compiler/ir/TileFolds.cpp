//===- TileFolds.cpp - folds of the `tile` operations ------------------------------------===//
#include "ir/Tile.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pantile;

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  Attribute scalar = adaptor.getSrc();
  if (!isa_and_nonnull<IntegerAttr, FloatAttr>(scalar))
    return {};
  return DenseElementsAttr::get(cast<RankedTensorType>(getType()), scalar);
}

OpFoldResult pantile::splatAs(Attribute constant, Type type) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant);
  if (!dense || !dense.isSplat())
    return {};
  return DenseElementsAttr::get(cast<RankedTensorType>(type), dense.getSplatValue<Attribute>());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return splatAs(adaptor.getSrc(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) { return splatAs(adaptor.getSrc(), getType()); }

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  return splatAs(adaptor.getSrc(), getType());
}

namespace {

/// Joins what is widened before it is widened: unpacked weights move as bytes, which are fewer.
struct JoinBeforeWidening : OpRewritePattern<JoinOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(JoinOp join, PatternRewriter &rewriter) const override {
    Operation *left = join.getLhs().getDefiningOp(), *right = join.getRhs().getDefiningOp();
    if (!isWidening(left) || !isWidening(right) || left->getName() != right->getName() ||
        left->getAttrDictionary() != right->getAttrDictionary() || left == right ||
        left->getOperand(0).getType() != right->getOperand(0).getType())
      return failure();
    const Type narrow = elementTypeOf(left->getOperand(0).getType());
    RankedTensorType type = join.getType();
    Value joined = JoinOp::create(rewriter, join.getLoc(), type.clone(narrow), left->getOperand(0),
                                  right->getOperand(0));
    Operation *wide = rewriter.clone(*left);
    rewriter.modifyOpInPlace(wide, [&] {
      wide->setOperand(0, joined);
      wide->getResult(0).setType(type);
    });
    rewriter.replaceOp(join, wide);
    return success();
  }

  /// Whether `op` only widens, for one user.
  static bool isWidening(Operation *op) {
    return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp, arith::ExtFOp, arith::ExtSIOp,
                           arith::ExtUIOp>(op) &&
           op->hasOneUse() &&
           storageBits(elementTypeOf(op->getOperand(0).getType())) <
               storageBits(elementTypeOf(op->getResult(0).getType()));
  }
};
} // namespace

void JoinOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<JoinBeforeWidening>(context);
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
