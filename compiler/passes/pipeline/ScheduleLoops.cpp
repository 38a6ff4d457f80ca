//===- ScheduleLoops.cpp - decide which loads of a loop are prefetched ------------------===//
// Needs: StageOperands ran: what a tensor core reads from a loop's loads passes a buffer.
// Gives: `nv.prefetch` (bytes of one cp.async) on each staged store that is to become a copy;
//        `nv.distance`, `nv.depth` and `nv.in_flight` on its loop.
// How:   a staged load qualifies when it can be prefetched (CopyAhead.h; through a table while
//        no second block goes for the circular buffers). What else the loop loads to compute with is staged
//        first, while two blocks have room. With num_stages = s there are s stages and
//        copies run s - 1 iterations ahead. A loop with one wgmma whose sum only goes to the next
//        iteration keeps one product under way, if its operands outlast the iteration: its stage is
//        free one iteration later, so there is one stage more, or, where that would cost a
//        CTA per SM, a barrier in front of the copies. So does a loop with two
//        chained products (CarriedAccumulator.h), or copies run an iteration less ahead. A loop that has
//        read all when its product has ended does with a stage less, behind such a barrier, where
//        that makes room for a third block.
//===------------------------------------------------------------------------------------===//
#include "analysis/CopyAhead.h"
#include "analysis/MmaWaits.h"
#include "analysis/Residency.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/CarriedAccumulator.h"
#include "passes/pipeline/StageValues.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "passes/Passes.h.inc"
namespace {

struct Schedule {
  int distance = 0, depth = 0, inFlight = 0;
  bool carriesAccumulator = false;
};

int64_t stageBytes(ArrayRef<StagedLoad> loads) {
  int64_t bytes = 0;
  for (StagedLoad load : loads)
    bytes += load.alloc.getType().getStageBytes();
  return bytes;
}

/// True when `buffer` is not written by the next iteration: it is in a circular buffer, or the loop leaves it
/// alone.
bool outlastsIteration(scf::ForOp loop, Value buffer, ArrayRef<StagedLoad> loads) {
  while (auto view = buffer.getDefiningOp<nv::BufferTransOp>())
    buffer = view.getBuffer();
  auto alloc = buffer.getDefiningOp<nv::AllocOp>();
  return alloc &&
         (loop.isDefinedOutsideOfLoop(alloc) ||
          llvm::any_of(loads, [&](const StagedLoad &load) { return load.alloc == alloc; }));
}

/// True when the loop's only product is added up from iteration to iteration, not looked at in
/// between, and what it reads is not written meanwhile.
bool canKeepProductInFlight(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  nv::AsyncMmaOpInterface product = loneAccumulation(loop);
  return product && outlastsIteration(loop, product.getLhs(), loads) &&
         outlastsIteration(loop, product.getRhs(), loads);
}

/// True when products may end in the next iteration: what they read lasts, and only copies write to
/// shared memory. Several keep their left operands in registers meanwhile: all must fit.
bool canCarrySum(scf::ForOp loop, ArrayRef<StagedLoad> loads, const Target &target) {
  auto isCopied = [&](nv::LocalStoreOp store) {
    return llvm::any_of(loads, [&](const StagedLoad &load) { return load.store == store; });
  };
  SmallVector<nv::AsyncMmaOpInterface> late;
  if (auto carried = findCarriedAccumulator(loop))
    late = {carried->second};
  else
    late = findAddedSums(loop);
  auto outlasts = [&](nv::AsyncMmaOpInterface product) {
    return outlastsIteration(loop, product.getRhs(), loads);
  };
  const bool fits =
      late.size() == 1 || registersWithoutPointers(loop) <= target.machine().sm.registersOfThread;
  return fits && !late.empty() && llvm::all_of(late, outlasts) &&
         llvm::all_of(loop.getBody()->getOps<nv::LocalStoreOp>(), isCopied);
}

/// True when as many blocks have room with `stages` as with one less.
bool hasRoomForStage(scf::ForOp loop, ArrayRef<StagedLoad> loads, int depth, const Target &target) {
  const MachineModel &machine = target.machine();
  auto kernel = loop->getParentOfType<func::FuncOp>();
  CtaDemand demand = demandOf(kernel);
  kernel.walk([&](nv::AllocOp alloc) { // circular buffers of loops follow each other
    if (alloc->getParentOfType<scf::ForOp>())
      demand.sharedBytes -= ringBytes(alloc.getType());
  });
  demand.sharedBytes += (depth - 1) * stageBytes(loads);
  const int64_t before = machine.ctasPerSm(demand);
  demand.sharedBytes += stageBytes(loads);
  return demand.sharedBytes <= target.maxSharedBytes() && machine.ctasPerSm(demand) == before;
}

/// Whether all that the body reads of `loads` is read when its only product has been waited for.
bool isReadBeforeWait(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
  if (!llvm::hasSingleElement(waits) || !(*waits.begin()).getDone().empty() ||
      !llvm::hasSingleElement(loop.getBody()->getOps<nv::AsyncMmaOpInterface>()))
    return false;
  Operation *wait = *waits.begin();
  return llvm::all_of(loads, [&](StagedLoad load) {
    SmallVector<Value> buffers{load.alloc};
    while (!buffers.empty())
      for (Operation *user : buffers.pop_back_val().getUsers()) {
        if (user->getBlock() != wait->getBlock() ||
            (!isa<nv::DeallocOp>(user) && !user->isBeforeInBlock(wait)))
          return false;
        if (auto view = dyn_cast<nv::BufferTransOp>(user))
          buffers.push_back(view.getResult());
      }
    return true;
  });
}

Schedule chooseSchedule(scf::ForOp loop, ArrayRef<StagedLoad> loads, int stages,
                        const Target &target, const ScheduleLoopsOptions &options) {
  Schedule plain{stages - 1, stages, 0};
  if (options.carriesAccumulators && canCarrySum(loop, loads, target)) {
    if (hasRoomForStage(loop, loads, stages + 1, target))
      return {stages - 1, stages + 1, 0, /*carriesAccumulator=*/true};
    return stages >= 3 ? Schedule{stages - 2, stages, 0, /*carriesAccumulator=*/true} : plain;
  }
  if (!canKeepProductInFlight(loop, loads)) {
    const bool isTight = stages >= 3 && isReadBeforeWait(loop, loads) && !options.fewerBuffers;
    const int64_t blocks = isTight ? blocksWithRings(loop, {}, stages, target) : 0;
    if (isTight && blocks < target.machine().occupancy.ctasWorthStage &&
        blocksWithRings(loop, {}, stages - 1, target) > std::max<int64_t>(blocks, 1))
      return {stages - 1, stages - 1, 0};
    return plain;
  }
  const int64_t before = blocksWithRings(loop, {}, stages, target);
  if (blocksWithRings(loop, {}, stages + 1, target) >=
      std::max<int64_t>(std::min(before, ctasToKeep(target.machine(), options.thirdCta)), 1))
    return {stages - 1, stages + 1, 1};
  return {stages - 1, stages, 1};
}

/// Whether circular buffers of `stages` take the place of the second block.
bool costsSecondBlock(scf::ForOp loop, int depth, const Target &target) {
  const int64_t before = blocksWithRings(loop, {}, 1, target);
  return blocksWithRings(loop, {}, depth, target) <
         std::min(before, target.machine().occupancy.ctasToKeep);
}

struct ScheduleLoopsPass : impl::ScheduleLoopsBase<ScheduleLoopsPass> {
  using ScheduleLoopsBase::ScheduleLoopsBase;
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    if (!target || !target->hasCpAsync())
      return;
    AxisInfoAnalysis axes(getOperation());
    getOperation().walk([&](scf::ForOp loop) { schedule(loop, axes, *target); });
    getOperation().walk([&](scf::WhileOp loop) { remarkWhile(loop); });
  }

private:
  /// How often such a loop goes round is known when it has gone.
  void remarkWhile(scf::WhileOp loop) {
    for (auto store : loop.getAfterBody()->getOps<nv::LocalStoreOp>())
      if (auto load = store.getValue().getDefiningOp<LoadOp>();
          load && load->getBlock() == store->getBlock())
        remarkMissed(load.getLoc(), Technique::Pipelining)
            << "load is not prefetched: its loop is a `while`";
  }

  /// Bytes of one cp.async of `staged`, or 0 with a remark that says why there is none.
  int prefetchBytes(scf::ForOp loop, StagedLoad staged, const AxisInfoAnalysis &axes) {
    const AheadCopy copy = aheadCopyOf(loop, staged.load, staged.alloc.getType(), axes);
    if (copy.bytes == 0) {
      InFlightDiagnostic remark = remarkMissed(staged.load.getLoc(), Technique::Pipelining);
      remark << "load is not prefetched: " << copy.reason;
      if (copy.culprit)
        remark.attachNote(copy.culprit->getLoc()) << "it may change here";
    }
    return copy.bytes;
  }

  /// Gives up copies through a table, whose circular buffers would cost the second block.
  bool leaveInOrder(scf::ForOp loop, StagedLoad staged) {
    if (!isThroughTable(loop, staged.load))
      return false;
    staged.store->removeAttr(names::prefetch);
    remarkMissed(staged.load.getLoc(), Technique::Pipelining)
        << "load is not prefetched: its buffers would leave room for one block only";
    return true;
  }

  void schedule(scf::ForOp loop, const AxisInfoAnalysis &axes, const Target &target) {
    const int stages = stagesOf(loop) - fewerBuffers;
    if (stages < 2)
      return;
    if (bufferedValues)
      stageValues(loop, stages, axes, target);
    Builder builder(loop);
    SmallVector<StagedLoad> chosen;
    for (StagedLoad &staged : findStagedLoads(loop)) {
      if (int bytes = prefetchBytes(loop, staged, axes)) {
        staged.store->setAttr(names::prefetch, builder.getI32IntegerAttr(bytes));
        chosen.push_back(staged);
      }
    }
    if (costsSecondBlock(loop, stages, target))
      llvm::erase_if(chosen, [&](StagedLoad staged) { return leaveInOrder(loop, staged); });
    if (chosen.empty())
      return;
    Schedule schedule =
        chooseSchedule(loop, chosen, stages, target,
                       {carriesAccumulators, fewerBuffers, thirdCta, bufferedValues});
    loop->setAttr(names::distance, builder.getI32IntegerAttr(schedule.distance));
    loop->setAttr(names::depth, builder.getI32IntegerAttr(schedule.depth));
    loop->setAttr(names::inFlight, builder.getI32IntegerAttr(schedule.inFlight));
    if (schedule.carriesAccumulator)
      loop->setAttr(names::carriesAccumulator, builder.getUnitAttr());
    for (StagedLoad &staged : chosen)
      remarkApplied(staged.load.getLoc(), Technique::Pipelining)
          << "load is prefetched " << schedule.distance << " iterations ahead into "
          << schedule.depth << " buffers";
  }
};
} // namespace
} // namespace pantile
