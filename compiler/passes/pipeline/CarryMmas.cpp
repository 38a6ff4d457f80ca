//===- CarryMmas.cpp - keep the last MMAs of an iteration in flight over the back edge ------===//
// Needs: DeferWaits ran: waits are where results are used. Loops that other passes overlap are
//        expanded. A producer fills the circular buffers.
// Gives: MMAs at the end of an iteration whose results only the loop carries are complete at the
//        first wait of the next iteration; the stages that they read are released there, and after
//        the loop. So the tensor cores are busy while results of other MMAs are stored, and until the
//        first MMAs of the next iteration are issued.
// How:   MMAs complete in order, so the first wait of the next iteration, for an MMA that was issued
//        later, completes them. The last MMAs of a body stay in flight, each of which
//        1. adds to a carried accumulator that nothing else reads, and is issued after the first
//           wait: so its accumulator is read by none before that wait;
//        2. reads no registers that are overwritten before the first wait, also as a view of others;
//        3. reads from shared memory only what outlasts the iteration: stages that the loop releases
//           once, by a count that it carries, and buffers from before the loop (InsertBarriers waits
//           for it where the loop stores into one).
//        The accumulators, left operands and results that are live until the first wait must fit
//        into registers.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/RegisterBudget.h"
#include "ir/Candidates.h"
#include "ir/FindOps.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/ReleaseLater.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_CARRYMMAS
#include "passes/Passes.h.inc"
namespace {

/// The last MMAs of a loop body, which stay in flight.
class LastMmas {
public:
  explicit LastMmas(scf::ForOp loop) : loop(loop) {}

  /// False if there are none.
  bool find() {
    const SmallVector<WaitedMma> mmas = waitedMmas(loop);
    auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
    if (mmas.size() < 2 || waits.empty())
      return false;
    firstWait = *waits.begin();
    for (const WaitedMma &each : llvm::reverse(mmas)) {
      if (!mayStay(each.mma))
        break;
      last.insert(last.begin(), each.mma);
    }
    return !last.empty();
  }

  /// Registers per thread until the first wait: carried tiles, left operands of the MMAs in flight,
  /// and results of those that were issued.
  int64_t registers(const MachineModel &machine) {
    int64_t sum = machine.registers.overheadOfOverlap;
    for (Value carried : loop.getRegionIterArgs())
      sum += registersOf(carried);
    for (nv::AsyncMmaOpInterface mma : last)
      if (Value left = mma.getHeldRegisters())
        sum += registersOf(left);
    for (auto mma : loop.getBody()->getOps<nv::AsyncMmaOpInterface>())
      if (mma->isBeforeInBlock(firstWait))
        sum += startsFromZero(mma) ? registersOf(mma.getResult()) : 0;
    return sum;
  }

  void leave() {
    nv::MmaWaitOpInterface after = leaveInFlight(loop, last);
    for (nv::ReleaseOp release : releases)
      releaseLater(release, firstWait, after);
  }

private:
  bool mayStay(nv::AsyncMmaOpInterface mma) {
    llvm::SetVector<nv::ReleaseOp> own;
    const bool stays =
        carriedAccumulatorOf(mma) && firstWait->isBeforeInBlock(mma) &&
        keepsRegisters(loop, mma, firstWait) &&
        llvm::all_of(mma.getBuffersRead(), [&](Value buffer) { return outlasts(buffer, own); });
    if (stays)
      releases.insert_range(own);
    return stays;
  }

  /// Whether the next iteration does not overwrite `buffer` if its release, which is added to `own`,
  /// comes later.
  bool outlasts(Value buffer, llvm::SetVector<nv::ReleaseOp> &own) {
    const BufferStage stage = stageOf(buffer);
    if (!loop.isDefinedOutsideOfLoop(stage.buffer))
      return false;
    if (!stage.index)
      return true;
    SmallVector<nv::ReleaseOp> found;
    for (auto release : loop.getBody()->getOps<nv::ReleaseOp>())
      if (stageOf(release.getBarrier()).buffer == barriersOf(stage.buffer))
        found.push_back(release);
    own.insert_range(found);
    return found.size() == 1 && mayReleaseLater(found.front());
  }

  scf::ForOp loop;
  Operation *firstWait = nullptr;
  SmallVector<nv::AsyncMmaOpInterface> last;
  llvm::SetVector<nv::ReleaseOp> releases; ///< of the stages that they read
};

struct CarryMmasPass : impl::CarryMmasBase<CarryMmasPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    if (!target || !target->hasAsyncMma())
      return markAllAnalysesPreserved();
    const RegisterBudget budget{target->machine(), moduleInt(module, names::numWarps, 4)};
    for (scf::ForOp loop : opsIn<scf::ForOp>(module)) {
      LastMmas mmas(loop);
      if (!mmas.find())
        continue;
      if (mmas.registers(budget.machine) > budget.consumer(plannedCtas(loop))) {
        remarkMissed(loop.getLoc(), Technique::Pipelining)
            << "the last MMAs of an iteration do not overlap the first of the next iteration: "
               "accumulators and left operands take too many registers";
        continue;
      }
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the last MMAs of an iteration overlap the first of the next iteration";
      mmas.leave();
    }
  }
};
} // namespace
} // namespace pantile
