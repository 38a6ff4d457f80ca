//===- DeferWaits.cpp - keep several MMAs of an iteration in flight -----------------------===//
// Needs: circular buffers are expanded: operands of an MMA are in a stage or in registers.
// Gives: MMAs are issued as soon as their operands are there, and waited for where their
//        accumulators are first read.
// How:   within a loop body:
//        1. An MMA that adds to the result of the previous one, which nothing else reads, adds to it
//        in flight: the wait for both is that of the later one.
//        2. An MMA that does not depend on the previous one moves before the wait for that one,
//        with the selection of its stages.
//        3. Each wait moves down to the first use of its accumulator, or to the wait for a later MMA,
//        and the releases of stages move after the waits that preceded them. MotionLegality.h says
//        what they may pass. The ends of the buffers that an MMA reads move along with its wait,
//        where as many CTAs still fit an SM.
//        4. Small loads from global memory move before the first MMA, those of vectors from shared
//        memory to their first use.
//        5. In a loop with one MMA, conversions of layouts that it does not need move from before it
//        to after it: they wait for other warps, which then costs no time of the tensor cores.
//        6. If ScheduleLoops marked the loop, its `carriedMmas` (MmaWaits.h) are in flight over the
//        back edge, and waited for after the loop. InsertWaits lets the waits of the next iteration
//        return what they complete.
//===------------------------------------------------------------------------------------===//
#include "analysis/CtasPerSm.h"
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "analysis/SharedAllocations.h"
#include "ir/Machine.h"
#include "ir/Registers.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_DEFERWAITS
#include "passes/Passes.h.inc"
namespace {

/// The MMAs of a loop body and their waits.
class MmaOrder {
public:
  /// `carriesAccumulators`: MMAs of the iteration before are in flight when this one begins.
  MmaOrder(scf::ForOp loop, bool carriesAccumulators)
      : loop(loop), block(*loop.getBody()), carriesAccumulators(carriesAccumulators) {}

  /// True if there are two or more MMAs, each with a wait of its own before the next one. Otherwise
  /// another pass has ordered them already.
  bool find() {
    for (const WaitedMma &each : waitedMmas(loop)) {
      if (!waits.empty() && !waits.back()->isBeforeInBlock(each.mma))
        return false;
      mmas.push_back(each.mma);
      waits.push_back(each.wait);
    }
    for (auto wait : block.getOps<nv::MmaWaitOpInterface>())
      if (!llvm::is_contained(waits, wait))
        return false;
    return mmas.size() > 1;
  }

  void run() {
    auto released = waitsBeforeReleases();
    for (size_t next = waits.size() - 1; next > 0 && !carriesAccumulators; --next)
      if (addsInFlight(mmas[next], waits[next - 1]) && endLater(mmas[next - 1], waits[next]))
        join(next, released);
    for (auto [i, mma] : llvm::enumerate(mmas))
      if (i > 0)
        issueEarly(mma);
    for (nv::MmaWaitOpInterface wait : llvm::reverse(waits))
      waitLate(wait);
    for (const auto &[release, earlier] : released)
      for (Operation *wait : earlier)
        if (release->isBeforeInBlock(wait))
          release->moveAfter(wait);
    for (LoadOp load : llvm::to_vector(block.getOps<LoadOp>()))
      readEarly(load);
    for (auto load : llvm::to_vector(block.getOps<nv::LocalLoadOp>()))
      readLate(load);
  }

private:
  /// Each release with the waits before it: it must stay after them.
  using ReleasesAfterWaits = SmallVector<std::pair<Operation *, SmallVector<Operation *>>>;

  ReleasesAfterWaits waitsBeforeReleases() {
    ReleasesAfterWaits result;
    for (auto release : block.getOps<nv::ReleaseOp>()) {
      result.push_back({release, {}});
      for (nv::MmaWaitOpInterface wait : waits)
        if (wait->isBeforeInBlock(release))
          result.back().second.push_back(wait);
    }
    return result;
  }

  static bool isFullWait(Operation *op) {
    auto filled = dyn_cast<nv::MbarrierWaitOp>(op);
    return filled && !filled.getEmpty();
  }

  /// Whether `mma` alone reads what `wait` returns, as its accumulator, and the wait may come later.
  static bool addsInFlight(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait) {
    Value result = wait->getResult(0);
    if (!result.hasOneUse() || mma.getAcc() != result)
      return false;
    for (Operation *op = wait->getNextNode(); op != mma; op = op->getNextNode())
      if (!mayPass(wait, op) && !isFullWait(op) && !freesOperand(op, mmaOf(wait)))
        return false;
    return true;
  }

  static nv::AsyncMmaOpInterface mmaOf(nv::MmaWaitOpInterface wait) {
    return wait.getValues()[0].getDefiningOp<nv::AsyncMmaOpInterface>();
  }

  /// Moves the ends of the buffers that `mma` reads from before `place` to after it; false if fewer
  /// CTAs would fit an SM.
  bool endLater(nv::AsyncMmaOpInterface mma, Operation *place) {
    SmallVector<Operation *> ends;
    SharedChange change;
    for (auto end : block.getOps<nv::DeallocOp>())
      if (end->isBeforeInBlock(place) && freesOperand(end, mma)) {
        ends.push_back(end);
        change.liveUntil[end.getBuffer().getDefiningOp()] = place;
      }
    if (!ends.empty() && !keepsCtas(loop->getParentOfType<func::FuncOp>(), change)) {
      if (refused.insert(mma).second)
        remarkMissed(mma->getLoc(), Technique::Pipelining)
            << "this dot is complete before what follows it: its operands would stay in shared "
               "memory for longer, and fewer CTAs would fit an SM";
      return false;
    }
    for (Operation *end : llvm::reverse(ends))
      end->moveAfter(place);
    return true;
  }

  /// Lets MMA `next` add to the result of the one before in flight.
  void join(size_t next, ReleasesAfterWaits &released) {
    nv::MmaWaitOpInterface before = std::exchange(waits[next - 1], waits[next]);
    before->getResult(0).replaceAllUsesWith(mmas[next - 1].getResult());
    for (auto &[release, earlier] : released)
      llvm::replace(earlier, before.getOperation(), waits[next].getOperation());
    before->erase();
  }

  /// Collects the operations of the block that must move with `op` before `place`; false if one of
  /// them cannot move.
  bool collect(Operation *op, Operation *place, llvm::SetVector<Operation *> &along,
               llvm::function_ref<bool(Operation *)> mayGo = isStageSelection) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block || source->isBeforeInBlock(place))
        continue;
      if (!mayGo(source) || !collect(source, place, along, mayGo))
        return false;
    }
    along.insert(op);
    return true;
  }

  /// Moves `mma` before the earliest wait that it can pass, or, where MMAs of the iteration before
  /// are in flight, after that wait, which releases what they hold. The mbarrier waits for its full
  /// stage move with it.
  void issueEarly(nv::AsyncMmaOpInterface mma) {
    llvm::SetVector<Operation *> best;
    Operation *place = nullptr;
    SmallVector<Operation *> moved{mma};
    for (Operation *op = mma->getPrevNode(); op; op = op->getPrevNode()) {
      if (isFullWait(op))
        moved.push_back(op);
      else if (!mayPass(mma, op))
        break;
      Operation *to = carriesAccumulators ? op->getNextNode() : op;
      llvm::SetVector<Operation *> along;
      if (isa<nv::MmaWaitOpInterface>(op) &&
          llvm::all_of(llvm::reverse(moved),
                       [&](Operation *each) { return collect(each, to, along); })) {
        place = to;
        best = along;
      }
    }
    while (place && best.contains(place))
      place = place->getNextNode();
    for (Operation *op : best)
      op->moveBefore(place);
  }

  /// Moves a load that takes few registers per thread before the first MMA.
  void readEarly(LoadOp load) {
    const int64_t few = machineOf(load).registers.earlyLoad;
    if (registersOf(load.getResult()) > few || load->isBeforeInBlock(mmas.front()) ||
        isForNext(load))
      return;
    for (Operation *op = load; op != mmas.front();) {
      op = op->getPrevNode();
      if (!mayPass(load, op))
        return;
    }
    llvm::SetVector<Operation *> along;
    if (collect(load, mmas.front(), along, hasNoEffects))
      for (Operation *op : along)
        op->moveBefore(mmas.front());
  }

  /// Moves a vector's load from shared memory after the waits before its first use, so that it takes
  /// no registers while MMAs are in flight. It stays before the release of its stage.
  void readLate(nv::LocalLoadOp load) {
    if (load.getType().getRank() != 1)
      return;
    llvm::SetVector<Operation *> along;
    along.insert(load);
    Operation *place = load->getNextNode();
    for (;; place = place->getNextNode()) {
      const bool reads = llvm::any_of(place->getOperands(), [&](Value operand) {
        return along.contains(operand.getDefiningOp());
      });
      if (reads && isa<ExpandDimsOp, BroadcastOp>(place)) // views of the same registers
        along.insert(place);
      else if (reads || !(hasNoEffects(place) ||
                          isa<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>(place)))
        break;
    }
    for (Operation *op : along)
      op->moveBefore(place);
  }

  /// Whether PrefetchLoads loads it for the next iteration: it would be live next to the values of
  /// this one.
  bool isForNext(LoadOp load) {
    return llvm::all_of(load->getUsers(), [&](Operation *user) { return user == &block.back(); });
  }

  /// Moves `wait` down to the first use of its accumulator, to what it must not pass, or to a wait for
  /// a later MMA, which is complete no earlier. The ends of buffers that it passes follow it.
  void waitLate(nv::MmaWaitOpInterface wait) {
    Operation *place = wait->getNextNode(), *firstEnd = nullptr;
    auto uses = [&](Operation *op) {
      return llvm::is_contained(op->getOperands(), wait->getResult(0));
    };
    auto isNext = [&](Operation *op) {
      return carriesAccumulators && isa<nv::AsyncMmaOpInterface>(op);
    };
    nv::AsyncMmaOpInterface mma = mmaOf(wait);
    auto isLater = [&](Operation *op) {
      auto other = dyn_cast<nv::MmaWaitOpInterface>(op);
      Operation *waited = other ? other.getValues()[0].getDefiningOp() : nullptr;
      return waited && waited->getBlock() == &block && mma->isBeforeInBlock(waited);
    };
    for (; !uses(place) && !isNext(place) && !isLater(place); place = place->getNextNode())
      if (freesOperand(place, mma))
        firstEnd = firstEnd ? firstEnd : place;
      else if (!mayPass(wait, place))
        break;
    wait->moveBefore(place);
    if (firstEnd && !endLater(mma, wait))
      wait->moveBefore(firstEnd);
  }

  scf::ForOp loop;
  Block &block;
  const bool carriesAccumulators;
  SmallVector<nv::AsyncMmaOpInterface> mmas;
  SmallVector<nv::MmaWaitOpInterface> waits; ///< of each MMA; those that add in flight share one
  llvm::SmallPtrSet<Operation *, 4> refused; ///< MMAs whose operands have no room to live longer
};

/// The conversions of layouts before `mma` in its block that it does not need, each with what is
/// computed from it there: pure operations, which may move after `mma`.
llvm::SetVector<Operation *> conversionsNotFor(nv::AsyncMmaOpInterface mma) {
  llvm::SetVector<Operation *> all;
  for (auto convert : mma->getBlock()->getOps<ConvertLayoutOp>()) {
    if (!convert->isBeforeInBlock(mma))
      break;
    llvm::SetVector<Operation *> slice;
    slice.insert(convert);
    bool mayGo = true;
    for (size_t i = 0; mayGo && i < slice.size(); ++i)
      for (Operation *user : slice[i]->getUsers()) {
        Operation *inBlock = mma->getBlock()->findAncestorOpInBlock(*user);
        if (inBlock && mma->isBeforeInBlock(inBlock))
          continue;
        mayGo &= inBlock && hasNoEffects(inBlock);
        slice.insert(user);
      }
    if (mayGo)
      all.insert_range(slice);
  }
  return all;
}

void convertBehindMma(Block &block) {
  auto mmas = block.getOps<nv::AsyncMmaOpInterface>();
  if (!llvm::hasSingleElement(mmas))
    return;
  nv::AsyncMmaOpInterface mma = *mmas.begin();
  const llvm::SetVector<Operation *> moved = conversionsNotFor(mma);
  Operation *place = mma;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (&op == mma)
      break;
    if (!moved.contains(&op))
      continue;
    op.moveAfter(place);
    place = &op;
  }
}

struct DeferWaitsPass : impl::DeferWaitsBase<DeferWaitsPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      convertBehindMma(*loop.getBody());
      SmallVector<nv::AsyncMmaOpInterface> carried;
      if (loop->removeAttr(names::carriesAccumulator))
        carried = carriedMmas(loop);
      MmaOrder order(loop, !carried.empty());
      if (order.find())
        order.run();
      if (carried.empty())
        return;
      leaveInFlight(loop, carried);
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the last MMAs of an iteration overlap the first of the next iteration";
    });
  }
};
} // namespace
} // namespace pantile
