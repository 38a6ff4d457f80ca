//===- AxisInfoRules.h - facts of an operation's result from its operands -----===//
// Private to the analysis: AxisInfo.cpp has the walk, AxisInfoRules.cpp the rules per operation.
//===--------------------------------------------------------------------------===//
#ifndef PANTILE_ANALYSIS_AXISINFORULES_H
#define PANTILE_ANALYSIS_AXISINFORULES_H

#include "analysis/AxisInfo.h"
#include "mlir/IR/Operation.h"

namespace pantile {

/// Larger divisors add no information, and products of divisors must not overflow.
constexpr int64_t maxDivisor = int64_t(1) << 30;

/// Extents of a tile; one dimension of extent 1 for a scalar.
llvm::SmallVector<int64_t, 4> axisShape(mlir::Type type);
/// Bytes of what a pointer, or a tile of pointers, points to; 1 for anything else.
int64_t axisStep(mlir::Type type);

/// The largest power of two that divides a hint's value, since facts are powers of two.
/// Negative for the smallest integer.
inline int64_t powerOfTwoIn(int64_t promised) {
  return promised & static_cast<int64_t>(-static_cast<uint64_t>(promised));
}
/// Facts of result `index` of an operation without regions.
AxisInfo inferAxisInfo(mlir::Operation *op, unsigned index,
                       llvm::ArrayRef<const AxisInfo *> operands);
/// Strengthens `info` by the hint attributes of `op`.
void applyAxisHints(mlir::OpResult result, AxisInfo &info);

} // namespace pantile

#endif // PANTILE_ANALYSIS_AXISINFORULES_H
