//===- AsyncMma.cpp - see AsyncMma.h -------------------------------------------------------===//
#include "ir/AsyncMma.h"

using namespace mlir;

namespace pantile {

bool isAsync(MmaAttr mma) { return mma && mma.getKind() == MmaKind::Wgmma; }

nv::AsyncMmaOpInterface issueAsync(OpBuilder &builder, DotOp dot, Value left, Value right) {
  auto mma = nv::WgmmaOp::create(builder, dot.getLoc(), dot.getType(), left, right, dot.getAcc(),
                                 dot.getMmaAttr(), UnitAttr());
  if (int most = dot.getMaxImprecise())
    mma->setAttr(names::maxImprecise, builder.getI32IntegerAttr(most));
  return mma;
}

} // namespace pantile
