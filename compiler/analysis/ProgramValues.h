//===- ProgramValues.h - integers of a kernel, for one program of one launch -------===//
// Needs: a kernel at any stage, the integers that a launch passes, its grid, a program of it.
// Gives: the values of scalars that follow from these, and the number of iterations of loops.
// How:   Operations are folded with constant operands. An induction variable has its value in the
//        middle iteration. Values from memory, or carried by a loop, are unknown.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "pantile/Prediction.h"
#include "llvm/ADT/DenseMap.h"

namespace pantile {

/// The number of programs of the grid.
int64_t programsOf(const LaunchShape &launch);

class ProgramValues {
public:
  using Program = std::array<int64_t, 3>;
  ProgramValues(const LaunchShape &launch, Program program) : launch(launch), program(program) {}

  std::optional<int64_t> of(mlir::Value value);
  /// The number of iterations of `loop`, at least 0.
  std::optional<int64_t> trips(mlir::scf::ForOp loop);

private:
  std::optional<int64_t> compute(mlir::Value value);
  std::optional<int64_t> ofArgument(mlir::BlockArgument argument);
  std::optional<int64_t> fold(mlir::OpResult result);

  const LaunchShape &launch;
  const Program program;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> known;
};

} // namespace pantile
