//===- ExpandPipeline.cpp - software pipelining of loads by cp.async ----------------------===//
// Needs: loads into the current stages of channels (ScheduleLoops).
// Gives: each of these loads is an `nv.copy_async` into its channel, in a stage of the loop
//        (LoopSchedule.h) `distance` iterations before its use. The loop itself synchronises
//        accesses to the channel.
// How:   1. The loop carries the index of a stage of its channels. After it, all copies are waited
//        for.
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
#include "analysis/StagedLoad.h"
#include "ir/CopyFill.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
#include "ir/Numbers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/Channels.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_EXPANDPIPELINE
#include "passes/Passes.h.inc"
namespace {

/// A load into the current stage of a channel.
struct ChannelLoad {
  LoadOp load;
  nv::LocalStoreOp store;
  nv::ChannelOp channel;
};

/// Such loads of the loop's own body, in order.
SmallVector<ChannelLoad> channelLoads(scf::ForOp loop) {
  SmallVector<ChannelLoad> found;
  for (auto store : loop.getBody()->getOps<nv::LocalStoreOp>())
    if (auto stage = store.getBuffer().getDefiningOp<nv::CurrentStageOp>())
      found.push_back({store.getValue().getDefiningOp<LoadOp>(), store,
                       stage.getChannel().getDefiningOp<nv::ChannelOp>()});
  return found;
}

class CopyScheduler {
public:
  explicit CopyScheduler(scf::ForOp loop)
      : loop(loop), builder(loop), loc(loop.getLoc()), loads(channelLoads(loop)) {
    SmallVector<Value> roots;
    for (ChannelLoad each : loads) {
      roots.push_back(each.load.getPtr());
      if (each.load.getMask())
        roots.push_back(each.load.getMask());
    }
    distance = static_cast<int>(*loads.front().channel.getAhead());
    depth = static_cast<int>(loads.front().channel.getType().getDepth());
    auto addresses = addressSlice(loop, roots, /*upToLoads=*/true);
    auto ofIndices = addresses ? slicesOf(loop, addresses->loads.getArrayRef()) : std::nullopt;
    isComputedAhead = ofIndices.has_value();
    if (isComputedAhead)
      slice = *addresses, indices = *ofIndices;
  }

  /// Whether the addresses of later iterations can be computed.
  bool isComputedAhead = false;

  void run() {
    const SmallVector<Operation *> operands = invariantOperandStores();
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
  }

private:
  /// Stores before the loop of loaded operands of its MMAs, and their fences, in reverse order.
  /// These move after the prologue: they wait for memory, and the first copies need not.
  SmallVector<Operation *> invariantOperandStores() {
    SmallVector<Operation *> stores;
    for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
      auto store = dyn_cast<nv::LocalStoreOp>(op);
      if (isa<nv::FenceAsyncOp>(op) || (store && store.getValue().getDefiningOp<LoadOp>()))
        stores.push_back(op);
      else if (!isa<LoadOp, nv::BufferOpInterface>(op) && !isMemoryEffectFree(op))
        break;
    }
    const bool hasStores = llvm::any_of(stores, llvm::IsaPred<nv::LocalStoreOp>);
    return hasStores ? stores : SmallVector<Operation *>();
  }

  Value stageOf(ChannelLoad load, Value at) {
    return nv::SelectStageOp::create(builder, loc, load.channel, at);
  }

  /// Whether zeros that were stored once stay in all stages: rounding to tf32 in place adds to them.
  bool keepsZeros(ChannelLoad load) {
    Value mask = load.load.getMask();
    return mask && distance > 0 && loop.isDefinedOutsideOfLoop(mask) &&
           !containsOp<nv::RoundBufferOp>(loop);
  }

  /// Stores the zeros of masked loads into the stages to which the prologue does not copy.
  void zeroFillStages() {
    for (ChannelLoad load : loads) {
      if (!keepsZeros(load))
        continue;
      for (int stage = distance; stage < depth; ++stage) {
        auto zeros = nv::CopyAsyncOp::create(builder, load.load.getLoc(), nullPointers(load.load),
                                             stageOf(load, Numbers(builder, loc).of(stage)),
                                             load.load.getMask(), Value(), Value(),
                                             load.channel.getVectorBytesAttr(), IntegerAttr());
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
  /// dot, whose operands are read by then, unless registers did not hold what the loop keeps; else at
  /// the start. If they overwrite a stage whose MMA is
  /// in flight until that wait, they follow the wait and a barrier.
  void findPlaces() {
    Block &body = *loop.getBody();
    for (Operation &op : body)
      placeOf[&op] = end += 4;
    hasFence = containsOp<nv::AsyncMmaOpInterface>(loop) && !fencesFirstMma();
    issuePlace = 2;
    auto waits = body.getOps<nv::MmaWaitOpInterface>();
    auto dots = body.getOps<DotOp>();
    if (waits.empty() && (dots.empty() || readsKeptOperand(*dots.begin())))
      return;
    Operation *op = waits.empty() ? *dots.begin() : (*waits.begin()).getOperation();
    const int inFlight = !waits.empty() && !(*waits.begin()).getDone().empty() ? 1 : 0;
    const bool isAfterWait = !waits.empty() && inFlight >= depth - distance;
    issuePlace = placeOf[op] + (isAfterWait ? 2 : -2);
    if (!isAfterWait)
      return;
    builder.setInsertionPointAfter(op);
    placeOf[nv::BarrierOp::create(builder, loc)] = issuePlace - 1;
  }

  /// Whether `dot` reads a loop-invariant operand from a buffer (StageOperands).
  bool readsKeptOperand(DotOp dot) {
    return llvm::any_of(ValueRange{dot.getLhs(), dot.getRhs()}, [&](Value operand) {
      auto read = operand.getDefiningOp<nv::LocalLoadOp>();
      return read && loop.isDefinedOutsideOfLoop(viewedBuffer(read.getBuffer()));
    });
  }

  /// Lets the loop carry the index of a stage.
  void carryStage() {
    builder.setInsertionPoint(loop);
    Value zero = Numbers(builder, loc).of(0);
    loop = carryValues(loop, zero, [&](OpBuilder &b, ArrayRef<BlockArgument> stage) {
      Operation *before = b.getInsertionPoint()->getPrevNode();
      Value next = nextStage(b, loc, {stage[0], Value()}, depth).index;
      for (Operation *op = next.getDefiningOp(); op != before; op = op->getPrevNode())
        advances.push_back(op);
      return SmallVector<Value>{next};
    });
    loop->removeAttr(names::numStages);
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
    for (ChannelLoad load : loads) {
      auto copy = nv::CopyAsyncOp::create(
          builder, load.load.getLoc(), load.load.getPtr(), stageOf(load, carried),
          load.load.getMask(), Value(), Value(), load.channel.getVectorBytesAttr(), IntegerAttr());
      if (keepsZeros(load))
        copy->setAttr(names::keepsZeros, builder.getUnitAttr());
      copies.insert_range(ArrayRef<Operation *>{copy, copy.getBuffer().getDefiningOp()});
    }
    copies.insert(nv::CommitOp::create(builder, loc));
    builder.setInsertionPointAfter(wait);
    Operation *barrier = nv::BarrierOp::create(builder, loc);
    SmallVector<Value> stages;
    for (ChannelLoad load : loads)
      stages.push_back(stageOf(load, carried));
    for (auto [each, stage] : llvm::zip(loads, stages)) {
      Value current = each.store.getBuffer();
      each.store.erase();
      each.load.erase();
      replaceBuffer(current, stage);
    }
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
          llvm::any_of(loads, [&](ChannelLoad load) { return load.store == &op; });
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
  SmallVector<ChannelLoad> loads;
  int distance = 0, depth = 0;              ///< of all their channels
  AddressSlice slice;                       ///< the computation of the addresses of copies
  AddressSlice indices;                     ///< the same for the loads that `slice` begins with
  llvm::SmallPtrSet<Operation *, 8> copies; ///< with their stages and the commit
  SmallVector<Operation *> advances;        ///< to the next stage
  llvm::DenseMap<Operation *, int> placeOf; ///< of operations of the body; others enter it
  int end = 0, issuePlace = 0;
  bool hasFence = false; ///< at the start of the body
};

/// Whether the copies of an iteration can be one group, which a loop waits for.
bool isOneGroup(ArrayRef<ChannelLoad> loads) {
  return llvm::all_of(loads, [&](ChannelLoad each) {
    nv::ChannelOp first = loads.front().channel, channel = each.channel;
    return each.load && channel && channel.getVia() == nv::Transport::CpAsync &&
           channel.getAhead() == first.getAhead() &&
           channel.getType().getDepth() == first.getType().getDepth();
  });
}

struct ExpandPipelinePass : impl::ExpandPipelineBase<ExpandPipelinePass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops = opsIn<scf::ForOp>(getOperation());
    llvm::erase_if(loops, [](scf::ForOp loop) { return channelLoads(loop).empty(); });
    if (loops.empty())
      return markAllAnalysesPreserved();
    for (scf::ForOp loop : loops) {
      if (!isOneGroup(channelLoads(loop))) {
        loop.emitError("its channels are not filled by copies of one distance and depth");
        return signalPassFailure();
      }
      CopyScheduler scheduler(loop);
      if (!scheduler.isComputedAhead) {
        loop.emitError("the addresses of its copies depend on more than loads of vectors");
        return signalPassFailure();
      }
      scheduler.run();
    }
  }
};
} // namespace
} // namespace pantile
