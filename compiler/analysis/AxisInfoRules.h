//===- AxisInfoRules.h - facts of an operation's result from its operands -----===//
// Private to the analysis: AxisInfo.cpp walks, AxisInfoRules.cpp knows the operations.
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_ANALYSIS_AXISINFORULES_H
#define PANTILE_ANALYSIS_AXISINFORULES_H

#include "analysis/AxisInfo.h"
#include "mlir/IR/Operation.h"

namespace pantile {

/// Extents of a tile; one dimension of extent 1 for a scalar.
llvm::SmallVector<int64_t, 4> axisShape(mlir::Type type);
/// Bytes of what a pointer, or a tile of pointers, points to; 1 for anything else.
int64_t axisStep(mlir::Type type);

/// The largest power of two in a promise, which may be any number: the facts are about such only.
/// Negative for the smallest integer.
inline int64_t powerOfTwoIn(int64_t promised) {
  return promised & static_cast<int64_t>(-static_cast<uint64_t>(promised));
}
/// Facts of result `index` of an operation without regions.
AxisInfo inferAxisInfo(mlir::Operation *op, unsigned index,
                       llvm::ArrayRef<const AxisInfo *> operands);
/// Raises `info` to what the hint attributes of `op` promise.
void applyAxisHints(mlir::OpResult result, AxisInfo &info);

} // namespace pantile

#endif // PANTILE_ANALYSIS_AXISINFORULES_H
