//===- OverlapIterations.cpp - overlap the last MMAs of an iteration with the next one ---===//
// Needs: DeferWaits ran: MMAs are issued when their operands are there; a producer fills the
//        buffers.
// Gives: in a loop whose iterations have a late stage (LateStage.h), such as attention and its
//        gradients, that stage is stage 1, which nv-expand-loops runs one iteration later. Its MMAs
//        are issued after those of the next iteration, so the tensor cores are busy while the
//        values between the stages are computed.
// How:   The order is that of the clusters: what the MMAs of stage 0 need comes first, then the late
//        MMAs, and then all else. The expanded loop carries what the late stage of the iteration
//        before reads: left operands, and the integers that select stages of buffers.
//        Accumulators are rescaled before the late MMAs, after those of the iteration before.
//        Stages of buffers are waited for and released in the same order, so the producer does not
//        change. No MMA is in flight over the back edge.
//===------------------------------------------------------------------------------------===//
#include "analysis/LateStage.h"
#include "analysis/MotionLegality.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPITERATIONS
#include "passes/Passes.h.inc"
namespace {

/// Sets the stages of the operations of a loop with a late stage.
class LateScheduler {
public:
  explicit LateScheduler(LateStage &stage) : stage(stage), loop(stage.loop) {}

  void run() {
    settle();
    findIssue();
    setSchedule(loop, Expansion::Peeled, [&](Operation *op) {
      SmallVector<StagePlace> places;
      if (!stage.contains(op))
        places.push_back({0, earlyCluster(op)});
      if (stage.contains(op) || stage.selection.contains(op))
        places.push_back({1, lateCluster(op)});
      return places;
    });
  }

private:
  /// Clusters of the expanded loop, in order.
  enum Cluster {
    Issue,
    LateSelection,
    LateBarriers,
    LateMmas,
    Rest,
    LateWaits,
    LateAdditions,
    LateReleases,
    Last
  };

  /// What must follow the late MMAs of the iteration before comes last.
  Cluster earlyCluster(Operation *op) {
    if (stage.rescale.contains(op) || stage.isLastConversion(op))
      return Last;
    return issue.contains(op) ? Issue : Rest;
  }

  /// Collects what has effects before the first wait, such as the MMAs of stage 0, and what that
  /// needs. All else, such as masks of the results, is computed while MMAs are in flight.
  void findIssue() {
    for (Operation *op = stage.firstWait->getPrevNode(); op; op = op->getPrevNode())
      if (!hasNoEffects(op) || llvm::any_of(op->getUsers(), [&](Operation *user) {
            return issue.contains(loop.getBody()->findAncestorOpInBlock(*user));
          }))
        issue.insert(op);
  }

  static Cluster lateCluster(Operation *op) {
    if (isa<nv::MbarrierWaitOp>(op))
      return LateBarriers;
    if (isa<nv::AsyncMmaOpInterface>(op))
      return LateMmas;
    if (isa<nv::MmaWaitOpInterface>(op))
      return LateWaits;
    if (isa<arith::AddFOp>(op)) // of an MMA's result to an accumulator
      return LateAdditions;
    return isa<nv::ReleaseOp>(op) ? LateReleases : LateSelection;
  }

  /// Whether `value` is computed from a left operand or from what that is converted from.
  bool comesFromLeft(Value value) {
    llvm::DenseSet<Value> sources;
    for (Value left : stage.lefts()) {
      sources.insert(left);
      sources.insert_range(left.getDefiningOp()->getOperands());
    }
    bool isFound = false;
    traceBack(value, [&](Value next) {
      isFound |= sources.contains(next);
      return !isFound && next.getParentBlock() == loop.getBody();
    });
    return isFound;
  }

  /// Keeps ptxas from moving the wait for the late MMAs above the computation of left operands:
  /// settles the carried values that depend on these or, if there are none, the source of the last
  /// operand.
  void settle() {
    OpBuilder b(loop.getBody()->getTerminator());
    auto isFp32 = [](Value value) {
      auto tile = dyn_cast<RankedTensorType>(value.getType());
      return tile && tile.getElementType().isF32();
    };
    bool isHeld = false;
    for (Value value : loop.getYieldedValues())
      if (isFp32(value) && !stage.contains(value.getDefiningOp()) && comesFromLeft(value)) {
        nv::SettleOp::create(b, loop.getLoc(), value);
        isHeld = true;
      }
    Operation *last = stage.mmas.back().getLhs().getDefiningOp();
    if (!isHeld && stage.isLastConversion(last) && last->getNumOperands() == 1 &&
        isFp32(last->getOperand(0)))
      nv::SettleOp::create(b, loop.getLoc(), last->getOperand(0));
  }

  LateStage &stage;
  scf::ForOp loop;
  llvm::DenseSet<Operation *> issue; ///< operations of cluster `Issue`
};

struct OverlapIterationsPass : impl::OverlapIterationsBase<OverlapIterationsPass> {
  using OverlapIterationsBase::OverlapIterationsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    const int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasAsyncMma())
      return markAllAnalysesPreserved();
    bool changed = false;
    for (scf::ForOp loop : opsIn<scf::ForOp>(module)) {
      LateStage stage(loop);
      if (!stage.find() || (!rescaled && !stage.rescale.empty()))
        continue;
      if (!stage.fitsRegisters(target->machine(), warps)) {
        remarkMissed(loop.getLoc(), Technique::Pipelining)
            << "MMAs of two iterations are not in flight together: accumulators and left operands "
               "take too many registers";
        continue;
      }
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the last MMAs of an iteration are in flight together with the first of the next";
      LateScheduler(stage).run();
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace

} // namespace pantile
