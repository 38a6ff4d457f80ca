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
#include "ir/LoopSchedule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"

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

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value index(int value) { return constant(builder.getI32Type(), value); }

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
    for (StagedLoad load : staged) {
      nv::BufferType stage = load.alloc.getType();
      auto type = nv::BufferType::get(stage.getContext(), depth, stage.getShape(),
                                      stage.getElementType(), stage.getSwizzle());
      auto buffer = nv::AllocOp::create(builder, load.alloc.getLoc(), type, IntegerAttr());
      buffer->setAttr(names::circularBuffer, builder.getUnitAttr());
      buffers.push_back(buffer);
    }
  }

  Value stageOf(Value buffer, Value at) {
    auto type = cast<nv::BufferType>(buffer.getType()).getStageType();
    return nv::SelectStageOp::create(builder, loc, type, buffer, at);
  }

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
                                             stageOf(buffer, index(stage)), load.load.getMask(),
                                             Value(), vectorOf(load));
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
    hasFence = hasAsyncMma() && !fencesFirstMma();
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
    IRRewriter rewriter(loop.getContext());
    rewriter.setInsertionPoint(loop);
    builder.setInsertionPoint(loop);
    Value zero = index(0), one = index(1), all = index(depth);
    auto advance = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> stages) {
      Value next = arith::AddIOp::create(b, loc, stages.front(), one);
      Value wraps = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, next, all);
      Value chosen = arith::SelectOp::create(b, loc, wraps, zero, next);
      advances = {next.getDefiningOp(), wraps.getDefiningOp(), chosen.getDefiningOp()};
      return SmallVector<Value>{chosen};
    };
    auto made = loop.replaceWithAdditionalYields(rewriter, zero,
                                                 /*replaceInitOperandUsesInLoop=*/false, advance);
    loop = cast<scf::ForOp>(made->getOperation());
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
    if (hasFence)
      nv::FenceAsyncOp::create(builder, loc);
    nv::BarrierOp::create(builder, loc);
    SmallVector<Value> stages;
    for (Value buffer : buffers)
      stages.push_back(stageOf(buffer, carried));
    for (auto [load, each] : llvm::zip(staged, stages)) // nothing takes a freed address any more
      replaceBuffer(load, each);
    dropFences();
  }

  static void replaceBuffer(StagedLoad load, Value stage) {
    load.store.erase();
    load.load.erase();
    for (Operation *user : llvm::make_early_inc_range(load.alloc->getUsers()))
      if (isa<nv::DeallocOp>(user))
        user->erase();
    load.alloc.replaceAllUsesWith(stage);
    load.alloc.erase();
  }

  void dropFences() {
    bool hasStored = false;
    for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
      if (!isa<nv::FenceAsyncOp>(op))
        hasStored |= storesLocally(op);
      else if (placeOf.contains(&op) && !std::exchange(hasStored, false))
        op.erase();
  }

  /// Sets the stages of all operations, with their places as clusters.
  void setStagesOfAll() {
    const int copyStage = slice.loads.empty() ? 0 : 1, last = copyStage + distance;
    for (Operation &op : loop.getBody()->without_terminator()) {
      const bool isAdvance = llvm::is_contained(advances, &op);
      SmallVector<StagePlace> places;
      if (indices.ops.contains(&op) || slice.loads.contains(&op))
        places.push_back({0, issuePlace + 1});
      if (copies.contains(&op) || slice.ops.contains(&op))
        places.push_back({copyStage, issuePlace});
      else if (isAdvance)
        places.push_back({copyStage, end});
      if (!copies.contains(&op))
        places.push_back({last, isAdvance ? end : placeOf.lookup(&op)});
      setStages(&op, places);
    }
    setExpand(loop, /*copies=*/1);
    loop->setAttr(names::predicated, builder.getUnitAttr());
  }

  /// Whether the body has an MMA, also one of an inner loop, whose operands may be copied out here.
  bool hasAsyncMma() {
    return loop.getBody()
        ->walk([](nv::AsyncMmaOpInterface) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  static bool storesLocally(Operation &op) {
    return op.walk([](nv::LocalStoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
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
      else if (op.walk([](nv::AsyncMmaOpInterface) {
                   return WalkResult::interrupt();
                 }).wasInterrupted())
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
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(names::distance))
        loops.push_back(loop);
    });
    if (loops.empty())
      return markAllAnalysesPreserved();
    for (scf::ForOp loop : loops)
      CopyScheduler(loop).run();
  }
};
} // namespace
} // namespace pantile
