//===- MakeTensorMap.h - the tensor map of an access, and coordinates in it ---------------===//
// Needs: an access that TmaAccess.h allows.
// Gives: the operation that tells the host how to make its map, and the scalars that say where in
//        it a tile begins.
// How:   what the host knows becomes affine maps over the kernel's arguments, the rest 32-bit
//        arithmetic.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/TmaAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace pantile {

/// What one instruction copies: elements a dimension, fastest first, and the swizzle's bytes.
struct TmaBox {
  llvm::SmallVector<int32_t> sizes;
  int span = 0;
  mlir::Type element;
};

mlir::Value makeTensorMap(mlir::OpBuilder &b, mlir::Location loc, mlir::func::FuncOp kernel,
                          AffineAnalysis &affine, const TmaAccess &access, const TmaBox &box);

/// The first coordinate of each dimension, computed at the builder's place.
llvm::SmallVector<mlir::Value> makeCoordinates(mlir::OpBuilder &b, mlir::Location loc,
                                               AffineAnalysis &affine, const TmaAccess &access);

} // namespace pantile
