//===- MustAlias.h - which accesses of a kernel must alias -------------------------===//
// Needs: tile IR without layouts.
// Gives: classes of loads, stores and atomics that access the same location, one of which writes;
//        and whether a location is loop-invariant.
// How:   Two tiles of pointers must alias if they are one value, or if both are the same base plus
//        the same sum of index times stride (AffineAccess.h). Tiles that overlap otherwise, and two
//        arguments for the same memory, are different locations.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

class MustAlias {
public:
  explicit MustAlias(mlir::func::FuncOp function);

  /// The number of the class of `access`; none if no other access is in it, or if all are loads.
  std::optional<unsigned> classOf(mlir::Operation *access) const;
  /// Whether the location of `access` is the same in each iteration of `loop`.
  bool isLoopInvariant(mlir::Operation *access, mlir::Operation *loop) const;

private:
  struct Location {
    mlir::Value ptr;
    std::optional<AffineTile> form;
  };

  void number(llvm::ArrayRef<mlir::Operation *> accesses);
  bool isSame(const Location &a, const Location &b) const;

  AffineAnalysis affine;
  std::vector<Location> locations;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
};

} // namespace pantile
