//===- IssueStage.h - the part of an iteration that can run one iteration earlier ---------===//
// Needs: a producer fills the buffers; waits for MMAs are where their results are read.
// Gives: for loops whose MMAs start from zero and whose results are then computed with: the
//        operations of stage 0, which issue the MMAs. Stage 1, which has all the rest, may run one
//        iteration later.
// How:   legality, in this one place.
//        1. Accumulators: each MMA of the loop starts from zero, and its result is read by its own
//           wait alone. That wait is in stage 1.
//        2. Stage 0: the operands of the MMAs are stages of buffers, or left ones in registers. These,
//           the selection of stages, and all waits for full stages, are computed from integers, loads
//           from such stages and stable loads of stage 0: from no result of an MMA, and without
//           scratch, which takes barriers.
//        3. Effects: as MotionLegality.h says for stages that run together.
//        4. Depth: a stage of a buffer is released one iteration later. Two are in use while a
//           third one is filled.
//        5. Order: the body stays one basic block. LLVM would move what reads a result into a later
//           block, past the next MMA. A load whose mask may end within a vector branches.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace pantile {

class IssueStage {
public:
  explicit IssueStage(mlir::scf::ForOp loop) : loop(loop) {}

  /// Whether each MMA of the loop starts from zero, and there are some. Other loops have no results
  /// to be read per iteration.
  bool hasShape();

  /// Why the loop must stay as it is; empty if it need not.
  llvm::StringRef refusal();

  /// 32-bit registers per thread of the expanded loop. A carried tile that is not updated in place,
  /// such as the result itself, is live next to the one of the next iteration. So are the vectors
  /// that are repeated along rows or columns of the results.
  int64_t registers();

  bool contains(mlir::Operation *op) const { return issue.contains(op); }

private:
  bool findIssue();
  bool branches();
  int64_t registersOfVectors();

  mlir::scf::ForOp loop;
  llvm::SmallVector<nv::AsyncMmaOpInterface> mmas;
  llvm::SmallVector<nv::MbarrierWaitOp> barriers;
  llvm::SetVector<mlir::Operation *> issue; ///< stage 0
};

} // namespace pantile
