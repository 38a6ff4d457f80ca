//===- ScheduleLoops.cpp - decide which loads are prefetched, how far, and the depth --------===//
// Needs: StageOperands ran: what a tensor core reads from a loop's loads goes through a buffer.
// Gives: an `nv.channel` via cp.async for each load that is to become a copy, with its depth, the
//        distance and the bytes of one cp.async. The load is stored into its current stage.
// How:   a staged load qualifies if it can be prefetched (PrefetchLegality.h). The circular buffer of
//        an indirect load must not cost the second CTA per SM. Other tiles that the loop computes with
//        are staged first, while two CTAs fit. With num_stages = s, copies are issued s - 1 iterations
//        before their use, into s stages. Exceptions:
//        1. A loop with one wgmma whose accumulator is carried defers its wait by one iteration.
//        Its stage is then free one iteration later, so there is one stage more or, where that
//        would cost a CTA per SM, a barrier before the copies.
//        2. A loop of several, some of which can be in flight over the back edge (MmaWaits.h), takes
//        one stage more, too, or copies are issued one iteration later.
//        3. A loop whose operands have all been read when its MMA is complete takes one stage less,
//        with such a barrier, where that lets another CTA fit.
//        Where the stages of all loops do not fit into shared memory (SharedAllocations.h), but one
//        fewer per loop does, each has one fewer: Triton has as many buffers.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/CtasPerSm.h"
#include "analysis/MmaWaits.h"
#include "analysis/PrefetchLegality.h"
#include "analysis/SharedAllocations.h"
#include "ir/FindOps.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/mma/StageValues.h"
#include "passes/pipeline/Channels.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "passes/Passes.h.inc"
namespace {

struct Schedule {
  int distance = 0, depth = 0;
  bool inFlight = false; ///< the wait for the only MMA is deferred by one iteration
  bool carriesAccumulator = false;
};

/// Whether waits for MMAs with carried accumulators can be deferred by one iteration: their
/// operands are not overwritten meanwhile, and only copies write to shared memory. Several such
/// MMAs keep their left operands in registers meanwhile, which must all fit.
bool canCarryAccumulators(scf::ForOp loop, ArrayRef<StagedLoad> loads, const Target &target) {
  auto isCopied = [&](nv::LocalStoreOp store) {
    return llvm::any_of(loads, [&](const StagedLoad &load) { return load.store == store; });
  };
  const SmallVector<nv::AsyncMmaOpInterface> late = carriedMmas(loop);
  auto outlasts = [&](nv::AsyncMmaOpInterface mma) {
    return outlastsIteration(loop, mma.getRhs(), loads);
  };
  const bool fits =
      late.size() == 1 || registersWithoutPointers(loop) <= target.machine().sm.registersOfThread;
  return fits && !late.empty() && llvm::all_of(late, outlasts) &&
         llvm::all_of(loop.getBody()->getOps<nv::LocalStoreOp>(), isCopied);
}

/// Whether all reads of `loads` in the body precede the wait for its only MMA.
bool isReadBeforeWait(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
  if (!llvm::hasSingleElement(waits) || !(*waits.begin()).getDone().empty() ||
      !llvm::hasSingleElement(loop.getBody()->getOps<nv::AsyncMmaOpInterface>()))
    return false;
  Operation *wait = *waits.begin();
  return llvm::all_of(loads, [&](StagedLoad load) {
    return forEachUse(load.alloc, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->getBlock() == wait->getBlock() &&
             (isa<nv::DeallocOp>(user) || user->isBeforeInBlock(wait));
    });
  });
}

Schedule chooseSchedule(scf::ForOp loop, ArrayRef<StagedLoad> loads, int stages,
                        const Target &target, const ScheduleLoopsOptions &options) {
  const Schedule plain{stages - 1, stages};
  auto ctasWith = [&](int depth) { return ctasWithBuffers(loop, {}, depth, target); };
  if (options.carriesAccumulators && canCarryAccumulators(loop, loads, target)) {
    if (hasRoomForStage(loop, loads, stages + 1))
      return {stages - 1, stages + 1, false, /*carriesAccumulator=*/true};
    return stages >= 3 ? Schedule{stages - 2, stages, false, /*carriesAccumulator=*/true} : plain;
  }
  const int64_t ctas = ctasWith(stages);
  const OccupancyThresholds &worth = target.machine().occupancy;
  if (!deferrableMma(loop, loads)) {
    const bool isTight = stages >= 3 && isReadBeforeWait(loop, loads) && !options.fewerBuffers &&
                         ctas < worth.ctasWorthStage &&
                         ctasWith(stages - 1) > std::max<int64_t>(ctas, 1);
    return isTight ? Schedule{stages - 1, stages - 1} : plain;
  }
  const int64_t kept = std::min(ctas, ctasToKeep(target.machine(), options.thirdCta));
  const bool hasRoom = ctasWith(stages + 1) >= std::max<int64_t>(kept, 1);
  return {stages - 1, hasRoom ? stages + 1 : stages, /*inFlight=*/true};
}

/// Whether circular buffers of `depth` stages cost the second CTA per SM.
bool costsSecondCta(scf::ForOp loop, int depth, const Target &target) {
  const int64_t before = ctasWithBuffers(loop, {}, 1, target);
  return ctasWithBuffers(loop, {}, depth, target) <
         std::min(before, target.machine().occupancy.ctasToKeep);
}

/// Which loads of a loop are prefetched, and how.
struct LoopCopies {
  scf::ForOp loop;
  Schedule schedule;
  SmallVector<std::pair<StagedLoad, int>> copies;          ///< with the bytes of one cp.async
  SmallVector<std::pair<StagedLoad, PrefetchCopy>> others; ///< and why not
};

constexpr const char *costsCta = "its buffers would leave one CTA per SM";

/// Decides how the loads of `loop` are prefetched with at most so many stages, without changing the IR.
/// Where addresses depend on loads, stages that would cost the second CTA per SM are left out.
LoopCopies scheduleLoads(scf::ForOp loop, int stages, const AxisInfoAnalysis &axes,
                         const Target &target, const ScheduleLoopsOptions &options) {
  LoopCopies result{loop, {}, {}, {}};
  auto isGathered = [&](StagedLoad staged) { return isIndirect(loop, staged.load); };
  if (llvm::any_of(findStagedLoads(loop), isGathered))
    while (stages > 2 && costsSecondCta(loop, stages, target))
      --stages;
  const bool isCostly = costsSecondCta(loop, stages, target);
  for (StagedLoad staged : findStagedLoads(loop)) {
    PrefetchCopy copy = prefetchCopyOf(loop, staged.load, staged.alloc.getType(), axes);
    if (copy.bytes > 0 && isCostly && isIndirect(loop, staged.load))
      copy = {0, costsCta};
    if (copy.bytes > 0)
      result.copies.push_back({staged, copy.bytes});
    else
      result.others.push_back({staged, copy});
  }
  if (!result.copies.empty())
    result.schedule = chooseSchedule(loop, llvm::to_vector(llvm::make_first_range(result.copies)),
                                     stages, target, options);
  return result;
}

struct ScheduleLoopsPass : impl::ScheduleLoopsBase<ScheduleLoopsPass> {
  using ScheduleLoopsBase::ScheduleLoopsBase;
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    if (!target || !target->hasCpAsync())
      return;
    AxisInfoAnalysis axes(getOperation());
    std::vector<LoopCopies> loops = scheduleAll(axes, *target, fewerBuffers);
    if (!fewerBuffers && !fits(loops, *target)) {
      std::vector<LoopCopies> fewer = scheduleAll(axes, *target, /*fewer=*/true);
      if (fits(fewer, *target)) {
        auto kernel = loops.front().loop->getParentOfType<func::FuncOp>();
        remarkMissed(kernel.getLoc(), Technique::Pipelining) << givenUp;
        loops = std::move(fewer);
      }
    }
    for (const LoopCopies &next : loops)
      formChannels(next);
    getOperation().walk([&](scf::WhileOp loop) { remarkWhile(loop); });
  }

private:
  static constexpr const char *givenUp = "loads are prefetched one iteration less ahead: the "
                                         "buffers of all stages do not fit into shared memory";

  std::vector<LoopCopies> scheduleAll(const AxisInfoAnalysis &axes, const Target &target,
                                      bool fewer) {
    const ScheduleLoopsOptions options{carriesAccumulators, fewer, thirdCta, bufferedValues,
                                       tmaValues};
    std::vector<LoopCopies> result;
    getOperation().walk([&](scf::ForOp loop) {
      const int stages = stagesOf(loop) - fewer;
      if (stages < 2)
        return;
      if (bufferedValues && !containsOp<nv::ProducerOp>(loop->getParentOfType<func::FuncOp>()))
        for (StagedValue value : matricesToStage(loop, stages, axes, target))
          stageValue(value);
      if (!findStagedLoads(loop).empty())
        result.push_back(scheduleLoads(loop, stages, axes, target, options));
    });
    return result;
  }

  bool fits(ArrayRef<LoopCopies> loops, const Target &target) {
    SharedChange change;
    for (const LoopCopies &next : loops)
      for (const auto &[staged, bytes] : next.copies)
        change.stages[staged.alloc] = next.schedule.depth;
    return change.stages.empty() ||
           sharedBytesWith(getOperation(), change) <= target.maxSharedBytes();
  }

  /// The trip count of such a loop is not known before it ends.
  void remarkWhile(scf::WhileOp loop) {
    for (auto store : loop.getAfterBody()->getOps<nv::LocalStoreOp>())
      if (auto load = store.getValue().getDefiningOp<LoadOp>();
          load && load->getBlock() == store->getBlock())
        remarkMissed(load.getLoc(), Technique::Pipelining)
            << "load is not prefetched: its loop is a `while`";
  }

  static void formChannels(const LoopCopies &next) {
    for (const auto &[staged, copy] : next.others)
      remarkMissed(Technique::Pipelining, "load is not prefetched",
                   {staged.load, copy.culprit, copy.reason.str()}, "it may change here");
    if (next.copies.empty())
      return;
    scf::ForOp loop = next.loop;
    const Schedule &schedule = next.schedule;
    if (schedule.carriesAccumulator)
      loop->setAttr(names::carriesAccumulator, UnitAttr::get(loop.getContext()));
    Operation *last = loop;
    if (schedule.inFlight)
      last = deferByOneIteration(loop, loneAccumulation(loop));
    OpBuilder builder(loop);
    for (auto [staged, bytes] : next.copies) {
      auto channel = formCopyChannel(loop, staged, schedule.depth, schedule.distance, bytes);
      builder.setInsertionPointAfter(last);
      last = nv::DeallocOp::create(builder, loop.getLoc(), channel);
    }
  }
};
} // namespace
} // namespace pantile
