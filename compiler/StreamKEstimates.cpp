//===- StreamKEstimates.cpp - by what launches of a module's kernel choose stream-K -------===//
// Needs: PlanPrograms ran.
// Gives: streamKEstimate.
//===------------------------------------------------------------------------------------===//
#include "StreamKEstimates.h"
#include "TensorMaps.h"
#include "analysis/Programs.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace pantile {

std::optional<StreamKEstimate> streamKEstimate(ModuleOp module) {
  func::FuncOp kernel = onlyFunction(module);
  auto planned = kernel ? kernel->getAttrOfType<nv::StreamKEstimateAttr>(names::streamKEstimate)
                        : nv::StreamKEstimateAttr();
  if (!planned)
    return std::nullopt;
  const AffineMap dividend = planned.getDividend();
  return planned.getEstimate(
      hostPolynomial(dividend.getResult(0), static_cast<int>(dividend.getNumSymbols())));
}

} // namespace pantile
