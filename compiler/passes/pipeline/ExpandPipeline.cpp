//===- ExpandPipeline.cpp - software pipelining of loads by cp.async ----------------------===//
// Needs: the marks of ScheduleLoops.
// Gives: each marked load is an `nv.copy_async` into a circular buffer, in a stage of the loop
//        (LoopSchedule.h) `distance` iterations before its use. The loop itself synchronises
//        accesses to its circular buffers (`nv.circular_buffer`).
// How:   1. Circular buffers are allocated before the loop, and freed after it, where all copies
//        are waited for. The loop carries the index of a stage of theirs.
//        2. An iteration copies into that stage, waits for the copies, and a barrier follows. It
//        reads the stage then.
//        3. Copies, and what computes their addresses, are in a stage before the last; the last one
//        has all the rest, and computes addresses of its own. If addresses depend on loads
//        (indirect accesses), these are in a stage before the one of the copies.
//        4. So the copies for iteration i + distance overwrite the stage that iteration
//        i - (depth - distance) has read. All threads are done with it: they passed the barrier of
//        iteration i after their last MMA on it was complete, or pass another one after its wait.
//        5. If the mask of a load is loop-invariant, its zeros are stored into every stage once.
//        Loop-invariant operands are stored after the prologue.
//===------------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/StagedLoad.h"
#include "ir/CopyFill.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
#include "ir/Numbers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/CircularBuffer.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_EXPANDPIPELINE
#include "passes/Passes.h.inc"
namespace {

class CopyScheduler {
public:
  explicit CopyScheduler(scf::ForOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()), distance(intAttr(names::distance)),
        depth(intAttr(names::depth)), inFlight(intAttr(names::inFlight)) {
    SmallVector<Value> roots;
    for (StagedLoad candidate : findStagedLoads(loop)) {
      if (!candidate.store->hasAttr(names::prefetch))
        continue;
      staged.push_back(candidate);
      roots.push_back(candidate.load.getPtr());
      if (candidate.load.getMask())
        roots.push_back(candidate.load.getMask());
    }
    slice = *addressSlice(loop, roots, /*upToLoads=*/true);
    indices = *slicesOf(loop, slice.loads.getArrayRef());
  }

  void run() {
    nv::MmaWaitOpInterface lastWait; // after the loop, for what it leaves in flight
    if (inFlight)
      lastWait = deferByOneIteration(loop, loneAccumulation(loop));
    const SmallVector<Operation *> operands = invariantOperandStores();
    allocBuffers();
    zeroFillStages();
    for (Operation *op : llvm::reverse(operands)) {
      op->moveBefore(loop);
      op->setAttr(names::afterPrologue, builder.getUnitAttr());
    }
    findPlaces();
    carryStage();
    copyAtEntry();
    setStagesOfAll();
    builder.setInsertionPointAfter(loop);
    nv::WaitOp::create(builder, loc, 0);
    if (lastWait)
      builder.setInsertionPointAfter(lastWait);
    for (Value buffer : buffers)
      nv::DeallocOp::create(builder, loc, buffer);
  }

private:
  int intAttr(StringRef name) {
    return static_cast<int>(loop->getAttrOfType<IntegerAttr>(name).getInt());
  }

  /// Stores before the loop of loaded operands of its MMAs, and their fences, in reverse order.
  /// These move after the prologue: they wait for memory, and the first copies need not.
  SmallVector<Operation *> invariantOperandStores() {
    SmallVector<Operation *> stores;
    for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
      auto store = dyn_cast<nv::LocalStoreOp>(op);
      if (isa<nv::FenceAsyncOp>(op) || (store && store.getValue().getDefiningOp<LoadOp>()))
        stores.push_back(op);
      else if (!isa<LoadOp, nv::AllocOp>(op) && !isMemoryEffectFree(op))
        break;
    }
    const bool hasStores = llvm::any_of(stores, llvm::IsaPred<nv::LocalStoreOp>);
    return hasStores ? stores : SmallVector<Operation *>();
  }

  void allocBuffers() {
    for (StagedLoad load : staged)
      buffers.push_back(allocCircular(builder, load.alloc.getLoc(), load.alloc.getType(), depth));
  }

  Value stageOf(Value buffer, Value at) { return selectStage(builder, loc, buffer, at); }

  static IntegerAttr vectorOf(StagedLoad load) {
    return cast<IntegerAttr>(load.store->getAttr(names::prefetch));
  }

  bool keepsZeros(StagedLoad load) {
    Value mask = load.load.getMask();
    return mask && distance > 0 && loop.isDefinedOutsideOfLoop(mask);
  }

  /// Stores the zeros of masked loads into the stages to which the prologue does not copy.
  void zeroFillStages() {
    for (auto [load, buffer] : llvm::zip(staged, buffers)) {
      if (!keepsZeros(load))
        continue;
      for (int stage = distance; stage < depth; ++stage) {
        auto zeros = nv::CopyAsyncOp::create(builder, load.load.getLoc(), nullPointers(load.load),
                                             stageOf(buffer, Numbers(builder, loc).of(stage)),
                                             load.load.getMask(), Value(), vectorOf(load));
        zeros->setAttr(names::onlyZeros, builder.getUnitAttr());
        zeros->setAttr(names::afterPrologue, builder.getUnitAttr());
      }
    }
  }

  /// Pointers of the type of those of `load`, which nothing is read through.
  Value nullPointers(LoadOp load) {
    auto type = cast<RankedTensorType>(load.getPtr().getType());
    auto addresses =
        RankedTensorType::get(type.getShape(), builder.getI64Type(), type.getEncoding());
    Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(addresses));
    return IntToPtrOp::create(builder, loc, type, zeros);
  }

  //===- the body --------------------------------------------------------------------------===//

  /// Notes where the operations are, with places between them for what is added, and finds where
  /// the copies for a later iteration are issued: between an MMA and its wait; else before the first
  /// dot, whose operands are read by then; else at the start. If they overwrite a stage whose MMA is
  /// in flight until that wait, they follow the wait and a barrier.
  void findPlaces() {
    Block &body = *loop.getBody();
    for (Operation &op : body)
      placeOf[&op] = end += 4;
    hasFence = containsOp<nv::AsyncMmaOpInterface>(loop) && !fencesFirstMma();
    issuePlace = 2;
    auto waits = body.getOps<nv::MmaWaitOpInterface>();
    auto dots = body.getOps<DotOp>();
    if (waits.empty() && dots.empty())
      return;
    Operation *op = waits.empty() ? *dots.begin() : (*waits.begin()).getOperation();
    const bool isAfterWait = !waits.empty() && inFlight >= depth - distance;
    issuePlace = placeOf[op] + (isAfterWait ? 2 : -2);
    if (!isAfterWait)
      return;
    builder.setInsertionPointAfter(op);
    placeOf[nv::BarrierOp::create(builder, loc)] = issuePlace - 1;
  }

  /// Lets the loop carry the index of a stage.
  void carryStage() {
    builder.setInsertionPoint(loop);
    Numbers before(builder, loc);
    Value zero = before.of(0), one = before.of(1), all = before.of(depth);
    loop = carryValue(loop, zero, [&](OpBuilder &b, BlockArgument stage) {
      Numbers n(b, loc);
      Value next = n.add(stage, one), wraps = n.equal(next, all),
            chosen = n.pick(wraps, zero, next);
      advances = {next.getDefiningOp(), wraps.getDefiningOp(), chosen.getDefiningOp()};
      return chosen;
    });
    for (StringRef done : {names::distance, names::depth, names::inFlight, names::numStages})
      loop->removeAttr(done);
  }

  /// Replaces the loads by copies at the start of the body, waits for these, and makes them visible
  /// to all threads. An MMA needs a fence of its own only after stores of the body itself.
  void copyAtEntry() {
    Block &body = *loop.getBody();
    Value carried = body.getArguments().back();
    builder.setInsertionPointToStart(&body);
    Operation *wait = nv::WaitOp::create(builder, loc, 0);
    for (Operation &op : llvm::make_early_inc_range(body))
      if (slice.ops.contains(&op) || indices.ops.contains(&op) || slice.loads.contains(&op))
        op.moveBefore(wait);
    builder.setInsertionPoint(wait);
    for (auto [load, buffer] : llvm::zip(staged, buffers)) {
      auto copy = nv::CopyAsyncOp::create(builder, load.load.getLoc(), load.load.getPtr(),
                                          stageOf(buffer, carried), load.load.getMask(), Value(),
                                          vectorOf(load));
      if (keepsZeros(load))
        copy->setAttr(names::keepsZeros, builder.getUnitAttr());
      copies.insert_range(ArrayRef<Operation *>{copy, copy.getBuffer().getDefiningOp()});
    }
    copies.insert(nv::CommitOp::create(builder, loc));
    builder.setInsertionPointAfter(wait);
    Operation *barrier = nv::BarrierOp::create(builder, loc);
    SmallVector<Value> stages;
    for (Value buffer : buffers)
      stages.push_back(stageOf(buffer, carried));
    for (auto [load, each] : llvm::zip(staged, stages))
      replaceByStage(load, each);
    eraseUnneededFences(loop);
    builder.setInsertionPoint(barrier);
    if (hasFence)
      placeOf[nv::FenceAsyncOp::create(builder, loc)] = 0; // its address may be one that was freed
  }

  /// Sets the stages of all operations, with their places as clusters.
  void setStagesOfAll() {
    const int copyStage = slice.loads.empty() ? 0 : 1, last = copyStage + distance;
    setSchedule(loop, Expansion::Predicated, [&](Operation *op) {
      const bool isAdvance = llvm::is_contained(advances, op);
      SmallVector<StagePlace> places;
      if (indices.ops.contains(op) || slice.loads.contains(op))
        places.push_back({0, issuePlace + 1});
      if (copies.contains(op) || slice.ops.contains(op))
        places.push_back({copyStage, issuePlace});
      else if (isAdvance)
        places.push_back({copyStage, end});
      if (!copies.contains(op))
        places.push_back({last, isAdvance ? end : placeOf.lookup(op)});
      return places;
    });
  }

  /// Whether the body stores an operand of its first MMA: the fence and the barrier between these
  /// two then also order the copies.
  bool fencesFirstMma() {
    llvm::DenseSet<Value> stored, fenced;
    for (Operation &op : loop.getBody()->without_terminator()) {
      const bool isStaged =
          llvm::any_of(staged, [&](StagedLoad load) { return load.store == &op; });
      if (auto store = dyn_cast<nv::LocalStoreOp>(op); store && !isStaged)
        stored.insert(store.getBuffer());
      else if (isa<nv::FenceAsyncOp>(op))
        fenced = stored;
      else if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
        return llvm::any_of(mma.getBuffersRead(),
                            [&](Value buffer) { return fenced.contains(viewedBuffer(buffer)); });
      else if (containsOp<nv::AsyncMmaOpInterface>(&op))
        return false;
    }
    return false;
  }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  int distance, depth, inFlight;
  SmallVector<StagedLoad> staged;
  AddressSlice slice;   ///< the computation of the addresses of copies
  AddressSlice indices; ///< the same for the loads that `slice` begins with
  SmallVector<Value> buffers;
  llvm::SmallPtrSet<Operation *, 8> copies; ///< with their stages and the commit
  SmallVector<Operation *> advances;        ///< to the next stage
  llvm::DenseMap<Operation *, int> placeOf; ///< of operations of the body; others enter it
  int end = 0, issuePlace = 0;
  bool hasFence = false; ///< at the start of the body
};

struct ExpandPipelinePass : impl::ExpandPipelineBase<ExpandPipelinePass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops = opsIn<scf::ForOp>(getOperation());
    llvm::erase_if(loops, [](scf::ForOp loop) { return !loop->hasAttr(names::distance); });
    if (loops.empty())
      return markAllAnalysesPreserved();
    for (scf::ForOp loop : loops)
      CopyScheduler(loop).run();
  }
};
} // namespace
} // namespace pantile
