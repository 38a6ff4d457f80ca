//===- SamePlaces.h - which accesses of a kernel go through the same pointers -------------===//
// Needs: tile IR without layouts.
// Gives: for each load, store or atomic the number of its place, if another access has the same
//        place and one of all writes; and whether a place is the same in each round of a loop.
// How:   two tiles of pointers are one place where they are one value, or where both are the same
//        base plus the same sum of index times stride (AffineAccess.h). Parts that overlap
//        otherwise, and two arguments for the same memory, are different places.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

class SamePlaces {
public:
  explicit SamePlaces(mlir::func::FuncOp function);

  std::optional<unsigned> of(mlir::Operation *access) const;
  bool isSameInEachRound(mlir::Operation *access, mlir::Operation *loop) const;

private:
  struct Place {
    mlir::Value ptr;
    std::optional<AffineTile> form;
  };

  void number(llvm::ArrayRef<mlir::Operation *> accesses);
  bool isSame(const Place &a, const Place &b) const;

  AffineAnalysis affine;
  std::vector<Place> places;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
};

} // namespace pantile
