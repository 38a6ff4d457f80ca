//===- LateStage.h - the part of an iteration that can run one iteration later ------------===//
// Needs: a producer fills the buffers; waits for MMAs are where their results are read.
// Gives: the operations of stage 1: MMAs that add to carried accumulators, with their waits,
//        mbarrier waits and releases. All others are stage 0.
// How:   legality, in this one place.
//        1. A late MMA reads its left operand from registers that stage 0 computes. Its accumulator
//        is carried, and read only by itself and by what rescales it.
//        2. All MMAs of stage 0 are issued before the first wait for one of them; stage 1 is issued
//        after them.
//        3. Besides, stage 1 reads buffers alone, whose stages are selected by integers. An
//        mbarrier wait after the last MMA of stage 0 belongs to stage 1, and so does a release
//        after the first late MMA.
//        4. No other operation has effects, except loads of memory that does not change meanwhile.
//        5. If stage 0 waits for a circular buffer that stage 1 reads, two of its stages are in use
//        while a third one is filled, so its depth must be three or more.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace pantile {

class LateStage {
public:
  explicit LateStage(mlir::scf::ForOp loop) : loop(loop) {}

  /// Finds the late stage; false if the loop has none.
  bool find();

  bool contains(mlir::Operation *op) const { return late.contains(op); }
  /// The position of the accumulator of `mma` among the carried values.
  unsigned positionOf(nv::AsyncMmaOpInterface mma) const { return positions.lookup(mma); }
  /// Whether `op` is a conversion whose only result is the left operand of a late MMA. It can run
  /// after the registers of the operand of the iteration before are free.
  bool isLastConversion(mlir::Operation *op) const;

  mlir::scf::ForOp loop;
  llvm::SmallVector<nv::AsyncMmaOpInterface> early, mmas; ///< of stage 0, and of stage 1
  llvm::SetVector<mlir::Operation *> late;      ///< MMAs, waits and releases of stage 1, in order
  llvm::SetVector<mlir::Operation *> rescale;   ///< operations on accumulators before a late MMA
  llvm::SetVector<mlir::Operation *> selection; ///< the selection of stages for stage 1
  llvm::SetVector<mlir::Value> leaves;          ///< integers that the selection depends on
  mlir::Operation *firstWait = nullptr;         ///< of stage 0; stage 1 is issued before it

private:
  bool sortMmas();
  bool addLate(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait);
  bool findRescale(nv::AsyncMmaOpInterface mma, mlir::Value accumulator);
  bool sortOthers();
  bool findStageSelection();
  bool lacksRoom(nv::AsyncMmaOpInterface mma);

  llvm::SmallVector<nv::MbarrierWaitOp> earlyBarriers, lateBarriers;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
};

} // namespace pantile
