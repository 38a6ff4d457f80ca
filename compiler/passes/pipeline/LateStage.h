//===- LateStage.h - what of a loop's iteration may run one iteration later --------------===//
// Needs: a producer fills the buffers; waits for MMAs stand where their results are read.
// Gives: the operations of stage 1: MMAs that add to carried accumulators, with what belongs to
//        them. All else is stage 0.
// How:   legality, in this one place. 1. A late MMA takes its left operand from registers that stage
//        0 computes; its accumulator is carried, and read by nothing but itself and what rescales
//        it. 2. All MMAs of stage 0 are issued before the first of them is waited for: stage 1 is
//        issued behind them. 3. What else stage 1 reads are buffers, chosen by integers. An mbarrier
//        wait behind the last MMA of stage 0 and a release behind the first late one are late, too.
//        4. Nothing else has effects but reads of memory that does not change meanwhile. 5. Where
//        stage 0 waits for a buffer that stage 1 reads, stages of two iterations are held, and a
//        third one is filled.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace pantile {

class LateStage {
public:
  explicit LateStage(mlir::scf::ForOp loop) : loop(loop) {}

  /// False: the loop has no such stage.
  bool find();

  bool contains(mlir::Operation *op) const { return late.contains(op); }
  /// Where the carried value that `mma` adds to stands among all carried ones.
  unsigned positionOf(nv::AsyncMmaOpInterface mma) const { return positions.lookup(mma); }
  /// The conversion that only makes the left operand of a late MMA: it may wait until the registers
  /// of the one before are free.
  bool isLastConversion(mlir::Operation *op) const;

  mlir::scf::ForOp loop;
  llvm::SmallVector<nv::AsyncMmaOpInterface> early, mmas; ///< of stage 0, and of stage 1
  llvm::SetVector<mlir::Operation *> late;    ///< MMAs, waits and releases of stage 1; in order
  llvm::SetVector<mlir::Operation *> rescale; ///< what accumulators go through before a late MMA
  llvm::SetVector<mlir::Operation *> choice;  ///< how the buffers of stage 1 are chosen
  llvm::SetVector<mlir::Value> leaves;        ///< integers that they are chosen by
  mlir::Operation *firstWait = nullptr;       ///< of stage 0; stage 1 is issued in front of it

private:
  bool sortMmas();
  bool addLate(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait);
  bool findRescale(nv::AsyncMmaOpInterface mma, mlir::Value accumulator);
  bool sortOthers();
  bool findChoice();
  bool lacksRoom(nv::AsyncMmaOpInterface mma);

  llvm::SmallVector<nv::MbarrierWaitOp> earlyBarriers, lateBarriers;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace pantile
