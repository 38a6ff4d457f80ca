//===- ProgramValues.h - integers of a kernel, for one program of one launch ---------------===//
// Needs: a kernel at any stage, the integers that a launch passes, its grid, a program of it.
// Gives: the values of scalars that follow from these, and how often loops run.
// How:   operations are folded with their operands as constants. The variable of a loop has the
//        value of its middle iteration. What memory or a loop's carried values decide is not known.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "pantile/Prediction.h"
#include "llvm/ADT/DenseMap.h"

namespace pantile {

/// Programs of the whole grid.
int64_t programsOf(const LaunchShape &launch);

class ProgramValues {
public:
  using Program = std::array<int64_t, 3>;
  ProgramValues(const LaunchShape &launch, Program program) : launch(launch), program(program) {}

  std::optional<int64_t> of(mlir::Value value);
  /// Iterations of `loop`, none below zero.
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
