//===- MakeTensorMap.h - the tensor map of an access, and its coordinates ----------===//
// Needs: an access that TmaAccess.h accepts.
// Gives: the `nv.tensor_map` from which the host encodes the map, and the coordinates at which a
//        tile begins in it.
// How:   Extents and strides are affine maps over the kernel's arguments, which the host evaluates
//        at launch. Coordinates are 32-bit arithmetic in the kernel.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/TmaAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// What one instruction copies: elements per dimension, fastest first, and the swizzle's span in
/// bytes.
struct TmaBox {
  llvm::SmallVector<int32_t> sizes;
  int span = 0;
  mlir::Type element;
};

mlir::Value makeTensorMap(mlir::OpBuilder &b, mlir::Location loc, mlir::func::FuncOp kernel,
                          AffineAnalysis &affine, const TmaAccess &access, const TmaBox &box);

/// Whether the launch's numbers are the multiples that `access` needs; there are some. Computed at the
/// builder's insertion point, by the kernel.
mlir::Value testMultiples(mlir::OpBuilder &b, mlir::Location loc, AffineAnalysis &affine,
                          const TmaAccess &access);

/// The tile's first coordinate in each dimension, computed at the builder's insertion point.
llvm::SmallVector<mlir::Value> makeCoordinates(mlir::OpBuilder &b, mlir::Location loc,
                                               AffineAnalysis &affine, const TmaAccess &access);

} // namespace pantile
