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

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
