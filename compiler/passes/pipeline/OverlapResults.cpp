//===- OverlapResults.cpp - issue MMAs before the results of the last ones are read ---------===//
// Needs: a producer fills the buffers; waits for MMAs are where their results are read.
// Gives: stages (LoopSchedule.h) for loops with a stage that issues MMAs (IssueStage.h), such as GEMM
//        with a scale per block of K. That is stage 0, which also computes their left operands in
//        registers. Stage 1, which runs one iteration later, has all the rest. So the tensor cores
//        multiply the next block while the result of this one is scaled and added, and this block
//        while the operand of the next one is unpacked.
// How:   the loop is unrolled by two, so that two sets of registers alternate: ptxas serialises
//        MMAs if an accumulator in flight is copied. The second results and left operands must fit
//        into registers, with as many CTAs per SM as planned.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/IssueStage.h"
#include "analysis/MotionLegality.h"
#include "analysis/RegisterBudget.h"
#include "ir/Candidates.h"
#include "ir/LoopSchedule.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPRESULTS
#include "passes/Passes.h.inc"
namespace {

/// Sets the stages of the operations of a loop with an issue stage.
class IssueScheduler {
public:
  IssueScheduler(scf::ForOp loop, const IssueStage &stage) : loop(loop), stage(stage) {}

  void run() {
    enum { Issue, Wait, Read }; // clusters: vectors are not live before the wait
    setSchedule(loop, Expansion::Unrolled, [&](Operation *op) {
      SmallVector<StagePlace> places;
      if (stage.contains(op))
        places.push_back({0, Issue});
      if (!stage.contains(op) || isSelection(op))
        places.push_back({1, isReleaseOrItsNeeds(op) ? Wait : Read});
      return places;
    });
  }

private:
  /// Views of buffers are selected again where stage 1 releases them: only integers are carried.
  static bool isSelection(Operation *op) {
    return isMemoryEffectFree(op) &&
           llvm::any_of(op->getResultTypes(), llvm::IsaPred<nv::BufferType>);
  }

  /// Waits for MMAs, releases of stages that stage 1 does not read, and what selects these.
  bool isReleaseOrItsNeeds(Operation *op) {
    auto release = dyn_cast<nv::ReleaseOp>(op);
    return (release && !isReadInStage1(stageOf(release.getBarrier()).buffer)) ||
           isa<nv::MmaWaitOpInterface>(op) || isSelection(op);
  }

  /// Whether threads read a stage of `barriers` in stage 1.
  bool isReadInStage1(Value barriers) {
    return llvm::any_of(*loop.getBody(), [&](Operation &op) {
      return barriersOfRead(&op) == barriers && !stage.contains(&op);
    });
  }

  scf::ForOp loop;
  const IssueStage &stage;
};

struct OverlapResultsPass : impl::OverlapResultsBase<OverlapResultsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    if (!target || !target->hasAsyncMma())
      return markAllAnalysesPreserved();
    const RegisterBudget budget{target->machine(), moduleInt(module, names::numWarps, 4)};
    bool changed = false;
    module.walk([&](scf::ForOp loop) {
      IssueStage stage(loop);
      if (loop->hasAttr(names::expand) || !stage.hasShape())
        return;
      StringRef reason = stage.refusal();
      if (reason.empty() && stage.registers() > budget.consumer(plannedCtas(loop)))
        reason = "a second result takes too many registers";
      if (!reason.empty()) {
        remarkMissed(loop.getLoc(), Technique::Pipelining)
            << "the MMAs of the next iteration wait until the results of this one are read: "
            << reason;
        return;
      }
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the MMAs of the next iteration are in flight while the results of this one are read";
      IssueScheduler(loop, stage).run();
      changed = true;
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
