//===- RunningSum.h - row sums that a loop carries ----------------------------------------===//
// Needs: a loop of tile IR, before software pipelining.
// Gives: carried values of the form `s = s * f + sum(x)`, or without a factor, that nothing else in
//        the loop reads, such as the row sums of an online softmax; and their replacement by tiles
//        of partial sums, which become one sum per row after the loop.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace pantile {

/// `next = scaled + reduce`, where `scaled` is the argument, or argument * `factor` if that is set.
struct RunningSum {
  unsigned position; ///< among the carried values
  mlir::arith::AddFOp next;
  mlir::arith::MulFOp scaled; ///< null: no factor
  mlir::Value factor;
  ReduceOp reduce;
};

/// Whether `reduce` adds up one operand.
bool isSum(ReduceOp reduce);

/// The running sum that `loop` carries at `position`, if there is one.
std::optional<RunningSum> findRunningSum(mlir::scf::ForOp loop, unsigned position);

/// What a loop carries in place of a running sum.
struct PartialSums {
  mlir::Value start; ///< before the loop
  mlir::Value own;   ///< of one iteration, in its body
  /// The sum per row of the partial sums after the loop.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> total;
};

/// `rows`, one element per row, broadcast along `axis` to `type`.
mlir::Value broadcastRows(mlir::OpBuilder &b, mlir::Value rows, int axis,
                          mlir::RankedTensorType type);

/// Carries `parts` in place of `sum`; gives the loop that replaces `loop`.
mlir::scf::ForOp carryPartialSums(mlir::IRRewriter &rewriter, mlir::scf::ForOp loop, RunningSum sum,
                                  const PartialSums &parts);

} // namespace pantile
