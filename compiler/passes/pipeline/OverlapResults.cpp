//===- OverlapResults.cpp - issue MMAs before the results of the last ones are read ---------===//
// Needs: a producer fills the buffers; waits for MMAs are where their results are read.
// Gives: stages (LoopSchedule.h) for loops whose MMAs start from zero and whose results are then
//        computed with, such as GEMM with a scale per block of K. Stage 0 issues the MMAs, and
//        computes their left operands in registers; stage 1, which runs one iteration later, has all
//        the rest. So the tensor cores multiply the next block while the result of this one is
//        scaled and added, and this block while the operand of the next one is unpacked.
// How:   the loop is unrolled by two, so that two sets of registers alternate: ptxas serialises
//        MMAs if an accumulator in flight is copied. Legality, in this one place:
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
//        6. Registers: second results and left operands fit, with as many CTAs per SM as planned.
//===------------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Scratch.h"
#include "ir/Candidates.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPRESULTS
#include "passes/Passes.h.inc"
namespace {

class ResultStage {
public:
  explicit ResultStage(scf::ForOp loop) : loop(loop) {}

  /// Whether each MMA of the loop starts from zero, and there are some. Other loops have no results
  /// to be read per iteration.
  bool hasShape() {
    mmas = opsIn<nv::AsyncMmaOpInterface>(loop);
    return !mmas.empty() && llvm::all_of(mmas, [&](nv::AsyncMmaOpInterface mma) {
      return mma->getParentOp() == loop && startsFromZero(mma);
    });
  }

  /// Why the loop must stay as it is; empty if it need not.
  StringRef refusal() {
    const std::optional<APInt> trips = loop.getStaticTripCount();
    if (trips && trips->ult(2))
      return "it has one iteration";
    if (waitedMmas(loop).empty())
      return "an MMA is waited for at once";
    llvm::copy_if(loop.getBody()->getOps<nv::MbarrierWaitOp>(), std::back_inserter(barriers),
                  [](nv::MbarrierWaitOp wait) { return !wait.getEmpty(); });
    if (barriers.empty())
      return "no producer fills its buffers";
    if (!mayOverlapStages(loop))
      return "the loop accesses memory other than by loads, or synchronises";
    if (branches())
      return "a condition branches in the loop, or a mask may end within a vector";
    if (!findIssue())
      return "its operands depend on results, or on values that go through scratch memory";
    return llvm::any_of(mmas, lacksStagesToOverlap) ? "the buffers have too few stages" : "";
  }

  /// 32-bit registers per thread of the expanded loop. A carried tile that is not updated in place,
  /// such as the result itself, is live next to the one of the next iteration. So are the vectors
  /// that are repeated along rows or columns of the results.
  int64_t registers() {
    int64_t registers = registersOfLoop(loop);
    for (nv::AsyncMmaOpInterface mma : mmas) {
      registers += registersOf(mma.getResult());
      if (Value left = mma.getHeldRegisters())
        registers += registersOf(left);
    }
    for (auto load : loop.getBody()->getOps<nv::LocalLoadOp>())
      if (issue.contains(load)) // and what is computed from it, in elements of its width
        registers += 2 * registersOf(load.getResult());
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      Operation *op = next.getDefiningOp();
      if (isa<RankedTensorType>(carried.getType()) &&
          !(op && llvm::is_contained(op->getOperands(), carried)))
        registers += registersOf(carried);
    }
    return registers + std::max<int64_t>(registersOfVectors(), 0);
  }

  void schedule() {
    enum { Issue, Wait, Read }; // clusters: vectors are not live before the wait
    setSchedule(loop, Expansion::Unrolled, [&](Operation *op) {
      SmallVector<StagePlace> places;
      if (issue.contains(op))
        places.push_back({0, Issue});
      if (!issue.contains(op) || isSelection(op))
        places.push_back({1, isReleaseOrItsNeeds(op) ? Wait : Read});
      return places;
    });
  }

private:
  /// Registers of the vectors that are repeated along rows or columns of results, beyond those that
  /// the loop carries of them from one iteration to the next.
  int64_t registersOfVectors() {
    int64_t registers = 0;
    llvm::DenseSet<Value> vectors;
    auto isLikeResult = [&](BroadcastOp broadcast) {
      return llvm::any_of(mmas, [&](nv::AsyncMmaOpInterface mma) {
        return mma.getResult().getType().getEncoding() == broadcast.getType().getEncoding();
      });
    };
    for (auto broadcast : loop.getBody()->getOps<BroadcastOp>())
      if (isLikeResult(broadcast) && !isReadFromStage(broadcast.getSrc()) &&
          !loop.isDefinedOutsideOfLoop(broadcast.getSrc()) &&
          vectors.insert(broadcast.getSrc()).second)
        registers += registersOf(broadcast.getSrc());
    for (Value carried : loop.getRegionIterArgs())
      if (auto tile = dyn_cast<RankedTensorType>(carried.getType()); tile && tile.getRank() == 1)
        registers -= registersOf(carried);
    return registers;
  }

  /// Whether `vector` is read from a stage of a buffer, which can be done again and again.
  static bool isReadFromStage(Value vector) {
    while (auto view = vector.getDefiningOp<ExpandDimsOp>())
      vector = view.getSrc();
    return vector.getDefiningOp<nv::LocalLoadOp>() != nullptr;
  }

  /// Whether the lowering of the body has several basic blocks (LowerMemory.cpp: withTail).
  bool branches() {
    const AxisInfoAnalysis axes(loop->getParentOfType<ModuleOp>());
    return llvm::any_of(loop.getBody()->without_terminator(), [&](Operation &op) {
      if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
        return true;
      auto load = dyn_cast<LoadOp>(op);
      if (!load || !load.getMask() || !isa<RankedTensorType>(load.getType()))
        return false;
      const LinearLayout layout = layoutOf(load.getType());
      return axes.widthWithTail(load.getPtr(), load.getMask(), layout) >
             axes.accessWidth(load.getPtr(), load.getMask(), layout);
    });
  }

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
      return barriersOfRead(&op) == barriers && !issue.contains(&op);
    });
  }

  static bool mayBeInStage0(Operation *op) {
    return isStageSelection(op) || isStableLoad(op) || barriersOfRead(op) ||
           (hasNoEffects(op) && scratchBytes(op) == 0);
  }

  /// Collects stage 0: the MMAs, the waits for full stages, and what they are computed from. False
  /// if something of that must not be there.
  bool findIssue() {
    SmallVector<Operation *> work(mmas.begin(), mmas.end());
    work.append(barriers.begin(), barriers.end());
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!issue.insert(op))
        continue;
      for (Value operand : op->getOperands()) {
        auto carried = dyn_cast<BlockArgument>(operand);
        if (carried && carried.getOwner() == loop.getBody() && carried != loop.getInductionVar())
          operand = loop.getTiedLoopYieldedValue(carried)->get();
        Operation *source = operand.getDefiningOp();
        if (loop.isDefinedOutsideOfLoop(operand) || !source)
          continue;
        if (!mayBeInStage0(source))
          return false;
        work.push_back(source);
      }
    }
    return true;
  }

  scf::ForOp loop;
  SmallVector<nv::AsyncMmaOpInterface> mmas;
  SmallVector<nv::MbarrierWaitOp> barriers;
  llvm::SetVector<Operation *> issue; ///< stage 0
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
      ResultStage stage(loop);
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
      stage.schedule();
      changed = true;
    });
    if (!changed)
      markAllAnalysesPreserved();
  }

  static int64_t plannedCtas(scf::ForOp loop) {
    auto kernel = loop->getParentOfType<func::FuncOp>();
    nv::CandidateAttr chosen = kernel ? chosenCandidate(kernel) : nv::CandidateAttr();
    return chosen ? std::max<int64_t>(chosen.getCtasPerSm(), 1) : 1;
  }
};
} // namespace
} // namespace pantile
