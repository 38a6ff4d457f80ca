//===- InsertWaits.cpp - count what waits leave in flight, insert the missing ones -----------===//
// Needs: MMAs are where they are issued; waits without a count are where MMAs must be complete.
// Gives: each wait has its count, and holds the registers that its MMAs read. While an MMA is in
//        flight, nothing else accesses its accumulator, and nothing overwrites the registers and
//        stages that it reads: where an operation would, a wait is inserted before it.
// How:   a forward data-flow analysis (StructuredFlow.h) of the MMAs in flight (MmasInFlight.h). An
//        operation needs a wait for an MMA in flight if it does one of these:
//        1. It reads the accumulator of the MMA. Another MMA may add to that accumulator, if
//           nothing else reads it. A loop may carry it in flight. Results of branches and values of
//           a `while` are waited for.
//        2. It computes the tile of the left operand of the MMA again, as in the next iteration. If
//           that tile is carried, the back edge counts as such an operation.
//        3. It releases a stage that the MMA reads, by the same index. If the MMA is of an earlier
//           iteration, any stage of that circular buffer counts.
//        MMAs complete in order, so a wait for one may complete others. It also returns those of
//        their accumulators that are read after it in its block: these need no other wait.
//        ptxas does not follow waits over a back edge: where an iteration reads an accumulator of
//        the one before while its first MMA is in flight, ptxas would wait for that MMA there (its
//        message C7517). A wait before that MMA, for nothing, tells it what is complete.
//        Left to other passes:
//        - Stores into buffers that MMAs read need a barrier: InsertBarriers, by byte ranges.
//        - A loop synchronises copies into its own circular buffers: ScheduleLoops chooses the
//          depth.
//        - What is in flight where. Passes decide it by moving MMAs and waits; none of them counts:
//          at the dot StageOperands, within an iteration DeferWaits, over the back edge
//          ScheduleLoops and SpecialiseWarps (one accumulator) or DeferWaits (several MMAs), together
//          with MMAs of the next iteration OverlapIterations and OverlapResults.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/MmasInFlight.h"
#include "analysis/StructuredFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_INSERTWAITS
#include "passes/Passes.h.inc"
namespace {

/// Whether `op`, or an operation in its regions, reads `value` other than to wait for it or to pass
/// it on as a carried value.
bool reads(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    const bool isInit = user == op && isa<scf::ForOp>(op);
    return op->isAncestor(user) && !isInit && !isa<nv::MmaWaitOpInterface>(user);
  });
}

/// Whether anything else than `mma`, which adds to `accumulator`, reads it.
bool hasOtherReader(nv::AsyncMmaOpInterface mma, Value accumulator) {
  return llvm::any_of(accumulator.getUses(), [&](OpOperand &use) {
    auto wait = dyn_cast<nv::MmaWaitOpInterface>(use.getOwner());
    return use.getOwner() != mma && !(wait && llvm::is_contained(wait.getDone(), accumulator));
  });
}

class WaitInserter : public StructuredFlow<MmasInFlight> {
  void visitOp(Operation *op, MmasInFlight &state) override {
    if (isa<nv::ProducerOp>(op)) // runs on other warps, which issue no MMA
      return;
    if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op))
      return complete(wait, state);
    waitBefore(op, state);
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op);
        mma && mma.getCompletion() == nv::Completion::MmaGroup) {
      if (!isTrial && state.count() == 0 && readsEarlierMeanwhile(mma)) {
        OpBuilder b(op);
        mma.createWait(b, op->getLoc(), ValueRange()).setPending(0);
      }
      state.issue(mma);
    }
  }

  MmasInFlight across(const MmasInFlight &state, ValueRange from, ValueRange to,
                      Operation *left) override {
    return state.across(from, to, left);
  }

  //===- the rule --------------------------------------------------------------------------===//

  static bool readsAccumulator(Operation *op, Value accumulator) {
    if (!accumulator)
      return false;
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
      return mma.getLhs() == accumulator ||
             (mma.getAcc() == accumulator && hasOtherReader(mma, accumulator));
    const bool isCarried = isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp());
    return !isCarried && reads(op, accumulator);
  }

  /// Whether `op` computes the tile of the left operand again, or gives its registers to the tile
  /// of the next iteration.
  static bool writesRegisters(Operation *op, Flight flight) {
    Value tile = flight.mma.getHeldRegisters();
    auto carried = dyn_cast_or_null<BlockArgument>(tile);
    if (carried && carried.getOwner() == op->getBlock())
      return op->hasTrait<OpTrait::IsTerminator>();
    return tile && tile.getDefiningOp() == op;
  }

  static bool releasesStage(Operation *op, Flight flight) {
    auto release = dyn_cast<nv::ReleaseOp>(op);
    if (!release)
      return false;
    const BufferStage released = stageOf(release.getBarrier());
    return llvm::any_of(flight.mma.getBuffersRead(), [&](Value buffer) {
      const BufferStage read = stageOf(buffer);
      return barriersOf(read.buffer) == released.buffer &&
             (flight.isEarlier || read.index == released.index);
    });
  }

  /// Whether `mma` is the first of an iteration, and accumulators of the one before, which that
  /// waited for, are read while it is in flight.
  static bool readsEarlierMeanwhile(nv::AsyncMmaOpInterface mma) {
    auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
    if (!loop)
      return false;
    auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
    if (waits.empty() || (*waits.begin())->isBeforeInBlock(mma))
      return false;
    Operation *firstWait = *waits.begin();
    auto isMeanwhile = [&](Operation *user) {
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
      return !isa<nv::AsyncMmaOpInterface>(user) && mma->isBeforeInBlock(inBody) &&
             inBody->isBeforeInBlock(firstWait);
    };
    return llvm::any_of(loop.getRegionIterArgs(), [&](BlockArgument carried) {
      return loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp<nv::MmaWaitOpInterface>() &&
             llvm::any_of(carried.getUsers(), isMeanwhile);
    });
  }

  //===- waits -----------------------------------------------------------------------------===//

  /// Waits before `op` for MMAs that must be complete then. The wait returns the accumulators that
  /// `op` reads.
  void waitBefore(Operation *op, MmasInFlight &state) {
    llvm::SetVector<Value> accumulators;
    for (const Flight &flight : state.flights())
      if (readsAccumulator(op, flight.accumulator))
        accumulators.insert(flight.accumulator);
    auto pending = state.pendingFor([&](const Flight &flight) {
      return accumulators.contains(flight.accumulator) || writesRegisters(op, flight) ||
             releasesStage(op, flight);
    });
    if (accumulators.empty() && !pending)
      return;
    const unsigned count = pending.value_or(state.count());
    if (!isTrial)
      insert(op, accumulators.getArrayRef(), count, state);
    state.wait(count, accumulators.getArrayRef());
  }

  static void insert(Operation *op, ArrayRef<Value> accumulators, unsigned pending,
                     MmasInFlight &state) {
    OpBuilder b(op);
    nv::AsyncMmaOpInterface mma = state.flights().front().mma;
    nv::MmaWaitOpInterface wait = mma.createWait(b, op->getLoc(), accumulators);
    replaceAfter(wait, accumulators, wait->getResults());
    fill(wait, pending, state);
  }

  /// What reads `accumulators` after `wait`, reads its results `waited` instead.
  static void replaceAfter(Operation *wait, ArrayRef<Value> accumulators, ValueRange waited) {
    for (auto [value, result] : llvm::zip_equal(accumulators, waited))
      Value(value).replaceUsesWithIf(result, [&](OpOperand &use) {
        Operation *user = wait->getBlock()->findAncestorOpInBlock(*use.getOwner());
        return user && wait->isBeforeInBlock(user);
      });
  }

  void complete(nv::MmaWaitOpInterface wait, MmasInFlight &state) {
    auto isMeant = [&](const Flight &flight) {
      return flight.accumulator && (llvm::is_contained(wait.getValues(), flight.accumulator) ||
                                    llvm::is_contained(wait.getDone(), flight.accumulator));
    };
    if (wait.getPending())
      return state.wait(*wait.getPending(), wait.getValues());
    const unsigned pending = state.pendingFor(isMeant).value_or(state.count());
    const llvm::SetVector<Value> others = readAfter(wait, pending, state);
    SmallVector<Value> values(wait.getValues());
    values.append(others.begin(), others.end());
    if (!isTrial)
      fill(others.empty() ? wait : withMore(wait, others.getArrayRef(), state), pending, state);
    state.wait(pending, values);
  }

  /// The accumulators of further MMAs that are complete once `wait` leaves `pending` in flight, and
  /// that are read after it: this wait can return them.
  static llvm::SetVector<Value> readAfter(nv::MmaWaitOpInterface wait, unsigned pending,
                                          const MmasInFlight &state) {
    llvm::SetVector<Value> found;
    for (const Flight &flight : state.flights()) {
      Value accumulator = flight.accumulator;
      const bool isComplete = flight.isComplete || flight.younger >= pending;
      if (!accumulator || !isComplete || llvm::is_contained(wait.getValues(), accumulator))
        continue;
      const bool isRead = llvm::any_of(accumulator.getUsers(), [&](Operation *user) {
        Operation *inBlock = wait->getBlock()->findAncestorOpInBlock(*user);
        return inBlock && wait->isBeforeInBlock(inBlock) && readsAccumulator(inBlock, accumulator);
      });
      if (isRead)
        found.insert(accumulator);
    }
    return found;
  }

  /// Replaces `wait` by one that also returns `others`.
  static nv::MmaWaitOpInterface withMore(nv::MmaWaitOpInterface wait, ArrayRef<Value> others,
                                         const MmasInFlight &state) {
    SmallVector<Value> values(wait.getValues());
    const size_t count = values.size();
    llvm::append_range(values, others);
    OpBuilder b(wait);
    nv::AsyncMmaOpInterface mma = state.flights().front().mma;
    nv::MmaWaitOpInterface made = mma.createWait(b, wait.getLoc(), values);
    made.getDoneMutable().assign(wait.getDone());
    wait->replaceAllUsesWith(made->getResults().take_front(count));
    replaceAfter(made, others, made->getResults().drop_front(count));
    wait.erase();
    return made;
  }

  /// Sets the count, and the registers that are held by the MMAs that the wait completes.
  static void fill(nv::MmaWaitOpInterface wait, unsigned pending, const MmasInFlight &state) {
    llvm::SetVector<Value> held;
    for (Value value : wait.getValues())
      if (auto mma = value.getDefiningOp<nv::AsyncMmaOpInterface>();
          mma && mma->getBlock() == wait->getBlock())
        if (Value tile = mma.getHeldRegisters())
          held.insert(tile);
    for (Flight flight : state.flights())
      if (Value tile = flight.mma.getHeldRegisters();
          tile && !flight.isComplete && !flight.isEarlier && flight.younger >= pending)
        held.insert(tile);
    wait.setPending(pending);
    wait.getHeldMutable().assign(held.getArrayRef());
  }
};

struct InsertWaitsPass : impl::InsertWaitsBase<InsertWaitsPass> {
  void runOnOperation() override {
    getOperation().walk([](func::FuncOp function) {
      MmasInFlight state;
      WaitInserter().visit(function.getBody(), state);
    });
  }
};
} // namespace
} // namespace pantile
