//===- TileFolds.cpp - folds of the `tile` operations ------------------------------------===//
#include "ir/Tile.h"

using namespace mlir;
using namespace pantile;

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  Attribute scalar = adaptor.getSrc();
  if (!isa_and_nonnull<IntegerAttr, FloatAttr>(scalar))
    return {};
  return DenseElementsAttr::get(cast<RankedTensorType>(getType()), scalar);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getSrc()); dense && dense.isSplat())
    return DenseElementsAttr::get(cast<RankedTensorType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType())
    return getSrc();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getSrc()); dense && dense.isSplat())
    return DenseElementsAttr::get(cast<RankedTensorType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
