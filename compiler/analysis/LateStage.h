//===- LateStage.h - the part of an iteration that can run one iteration later ------------===//
// Needs: a producer fills the buffers; waits for MMAs are where their results are read.
// Gives: the operations of stage 1, which may run one iteration later: MMAs that add to carried
//        accumulators, with their waits, mbarrier waits and releases. All others are stage 0.
// How:   legality, in this one place.
//        1. Left operands: a late MMA reads its left operand from registers that stage 0 computes.
//        2. Accumulators: the loop carries the accumulator of a late MMA, in one of two ways. The
//           MMA adds to it. Or the MMA starts from zero, and an addition adds its result to the
//           carried value; that addition is late, too. Nothing else reads the carried value but
//           operations that rescale it before.
//        3. Order: all MMAs of stage 0 come before the first wait for one of them, and before the
//           late MMAs. Stage 1 is issued between these MMAs and that wait.
//        4. Barriers: an mbarrier wait after the last MMA of stage 0 belongs to stage 1, unless
//           threads read that stage, which stage 0 does. So does a release after the first late MMA.
//        5. Buffers: stage 1 reads nothing else than buffers, whose stages are selected by
//           integers.
//        6. Effects: as MotionLegality.h says for stages that run together.
//        7. Depth: a circular buffer that stage 1 reads has at least three stages if stage 0 waits
//           for it: two are in use while a third one is filled.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Target.h"
#include "llvm/ADT/SetVector.h"

namespace pantile {

class LateStage {
public:
  explicit LateStage(mlir::scf::ForOp loop) : loop(loop) {}

  /// Finds the late stage; false if the loop has none.
  bool find();

  bool contains(mlir::Operation *op) const { return late.contains(op); }
  /// The addition of the result of `mma` to a carried value; null if `mma` itself adds to it.
  mlir::arith::AddFOp additionOf(nv::AsyncMmaOpInterface mma) const {
    return additions.lookup(mma);
  }
  /// The left operands of the late MMAs, each once.
  llvm::SetVector<mlir::Value> lefts() const;
  /// Whether `op` is a conversion whose only result is the left operand of a late MMA. It can run
  /// after the registers of the operand of the iteration before are free.
  bool isLastConversion(mlir::Operation *op) const;

  /// Whether registers suffice: accumulators of both stages and left operands are live at once, and
  /// the left operands of the next iteration before their conversion. Rescaling takes registers of
  /// its own.
  bool fitsRegisters(const MachineModel &machine, int warps) const;

  mlir::scf::ForOp loop;
  llvm::SmallVector<nv::AsyncMmaOpInterface> early, mmas; ///< of stage 0, and of stage 1
  llvm::SetVector<mlir::Operation *> late;      ///< MMAs, their additions, waits and releases of
                                                ///< stage 1, in order
  llvm::SetVector<mlir::Operation *> rescale;   ///< operations on accumulators before a late MMA
  llvm::SetVector<mlir::Operation *> selection; ///< the selection of stages for stage 1
  mlir::Operation *firstWait = nullptr;         ///< of stage 0; stage 1 is issued before it

private:
  bool sortMmas();
  bool addLate(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait);
  bool findRescale(mlir::OpOperand &addend, mlir::Value accumulator);
  bool sortOthers();
  bool findStageSelection();
  bool lacksRoom(nv::AsyncMmaOpInterface mma);

  llvm::SmallVector<nv::MbarrierWaitOp> earlyBarriers, lateBarriers;
  llvm::DenseMap<mlir::Operation *, mlir::arith::AddFOp> additions;
};

/// Whether registers suffice for a late stage of `loop`, in which MMAs are still waited for at once: some
/// start at zero, others add to carried accumulators.
bool hasRegistersForOverlap(mlir::scf::ForOp loop, const Target &target, int warps);

} // namespace pantile
