//===- Combine.h - the region of a reduction or scan, inlined ---------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Combines rows of values, one value per operand of the reduction.
class Combiner {
public:
  Combiner(Lowering &l, mlir::Region &region) : l(l), region(region) {}
  /// `first` comes before `second` along the axis.
  mlir::FailureOr<Values> operator()(ValueList first, ValueList second);
  /// True for a single operation that gives the same bits with its operands exchanged.
  bool isCommutative();

private:
  Lowering &l;
  mlir::Region &region;
};

} // namespace pantile::lower
