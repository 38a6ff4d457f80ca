//===- SpecialiseWarps.cpp - split load-dot loops into a producer warp and consumer warps -===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: `nv.producer`, which fills circular buffers by TMA loads, their `nv.tensor_map`s, and
//        consumer loops that wait for full stages and release them; `producer_warps` of
//        `nv.launch`.
// How:   1. SpecialisableLoops.cpp decides which kernels qualify, and plans.
//        2. Each loop gets a count of its iterations, carried through the loops around it and
//        continued from a previous loop that shares its circular buffers: stage index = count mod
//        depth, phase = (count / depth) mod 2. Tiles that threads read are staged (StageValues.h).
//        Each load becomes a TMA load into the stage, or cp.async of one warp for a vector, between a
//        wait for the stage to be empty and one for it to be full. What the consumers copy gets a channel via cp.async.
//        3. A poll that the producer does in the consumers' place is followed by an arrival at a
//        circular mbarrier, where they wait (`nv.acquire`).
//        4. The producer gets a copy of the scalars and the control flow that its TMA loads need,
//        and each side loses the operations of the other (ProducerPartition.cpp).
//===--------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "analysis/Programs.h"
#include "analysis/SpecialisableLoops.h"
#include "ir/Candidates.h"
#include "ir/Launch.h"
#include "ir/Numbers.h"
#include "ir/ReleasedStages.h"
#include "ir/Remarks.h"
#include "layout/TmaBoxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/memory/MakeTensorMap.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/mma/StageValues.h"
#include "passes/pipeline/Channels.h"
#include "passes/pipeline/ProducerPartition.h"
#include "passes/pipeline/ReleaseLater.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SPECIALISEWARPS
#include "passes/Passes.h.inc"
namespace {
/// The bytes that TMA copies into one stage.
int64_t copiedBytes(nv::BufferType type) {
  const TmaBoxes boxes = *tmaBoxes(sharedLayoutOf(type));
  int64_t elements = boxes.places.size();
  for (int64_t size : boxes.sizes)
    elements *= size;
  return elements * storageBits(type.getElementType()) / 8;
}

class Specialiser {
public:
  Specialiser(func::FuncOp function)
      : function(function), b(function.getContext()),
        warps(moduleInt(function, names::numWarps, 4)) {}

  /// The number of producer warps; 0, and nothing is changed, if there can be no producer.
  FailureOr<int> run(ProducerChoices choices) {
    nv::CandidateAttr chosen = chosenCandidate(function);
    if (chosen && !chosen.getProducer())
      return 0;
    Refusal refusal;
    std::optional<ProducerPlan> plan =
        planProducer(function, affine, nv::ProgramMap::Grid, choices, refusal);
    if (!plan) {
      if (chosen && chosen.getMap() == nv::ProgramMap::StreamK)
        return function.emitError("there is no producer for the work ranges of stream-K: ")
               << refusal.reason;
      reportRefusal(function, nv::ProgramMap::Grid, refusal);
      return 0;
    }
    loops = std::move(plan->loops);
    start = plan->start;
    remarkOnLoops();
    for (AtomicRmwOp poll : plan->polls)
      remarkApplied(poll.getLoc(), Technique::WarpSpecialisation)
          << "the producer warp polls, and the other warps wait for it";
    b.setInsertionPointToStart(&function.getBody().front());
    for (SpecialisableLoop &specialisable : loops)
      specialise(specialisable);
    for (AtomicRmwOp poll : plan->polls)
      pollInProducer(poll);
    if (!partitionWarps(function, start))
      return function.emitError("the producer needs more than was planned for it");
    return plan->warps;
  }

private:
  /// Runs before the loops are rebuilt.
  void remarkOnLoops() {
    for (SpecialisableLoop &specialisable : loops) {
      InFlightDiagnostic remark =
          remarkApplied(specialisable.loop.getLoc(), Technique::WarpSpecialisation);
      remark << "a producer warp loads for this loop, through " << specialisable.depth << " stages";
      if (start.after)
        remark.attachNote(start.after->getLoc()) << "the producer starts after this";
      remark.report();
      for (ProducerLoad &load : specialisable.loads)
        if (load.access)
          remarkApplied(load.staged.load.getLoc(), Technique::TensorMaps)
              << "load is converted to TMA with a tensor map of " << load.access->dims.size()
              << " dimensions" << conditionsOf(*load.access);
        else
          remarkApplied(load.staged.load.getLoc(), Technique::WarpSpecialisation)
              << "the producer warp copies this vector by cp.async";
      for (CopiedLoad &copy : specialisable.copies)
        remarkMissed(copy.staged.load.getLoc(), Technique::TensorMaps)
            << "the consumer warps copy this tile: " << copy.reason;
    }
  }

  static std::string conditionsOf(const TmaAccess &access) {
    std::string text;
    for (const TmaAccess::Multiple &multiple : access.multiples)
      text += ", for launches where a start, a stride or a modulus is a multiple of " +
              std::to_string(multiple.of);
    return text;
  }

  //===- one loop --------------------------------------------------------------------------===//

  void specialise(SpecialisableLoop &specialisable) {
    loc = specialisable.loop.getLoc();
    Block *entry = &function.getBody().front();
    b.setInsertionPointToStart(entry);
    depth = specialisable.depth;
    for (ProducerLoad &load : specialisable.loads)
      if (!load.staged.alloc)
        stage(load);
    allocBuffers(specialisable);
    for (ProducerLoad &load : specialisable.loads)
      if (load.access)
        load.map = tensorMap(load);
    Value count = specialisable.previous
                      ? continueCount(specialisable)
                      : countExecutions(specialisable.loop.getBody()->getTerminator());
    advanceScalars(specialisable.loop);
    Block &body = *specialisable.loop.getBody();
    setNext(body, count);
    b.setInsertionPointToStart(&body);
    const PipelineState state = stateOf(count);
    for (unsigned group = 0; group < specialisable.barriers.size(); ++group)
      specialiseGroup(specialisable, group, state);
    eraseUnneededFences(specialisable.loop);
    deallocBuffers(specialisable, entry->findAncestorOpInBlock(*specialisable.loop));
    copyByConsumers(specialisable);
  }

  /// Gives what the consumers copy channels of their own. These are free when the last MMA of the
  /// loop is complete.
  void copyByConsumers(SpecialisableLoop &specialisable) {
    Operation *last = specialisable.lastWait ? specialisable.lastWait : specialisable.loop;
    for (CopiedLoad &copy : specialisable.copies) {
      StagedLoad staged =
          copy.staged.alloc ? copy.staged : stageValue({copy.staged.load, copy.buffer});
      auto channel = formCopyChannel(specialisable.loop, staged, specialisable.depthOfCopies(),
                                     specialisable.ahead, copy.bytes);
      b.setInsertionPointAfter(last);
      last = nv::DeallocOp::create(b, loc, channel);
    }
  }

  /// Stages a value; threads then read its buffer where they used it.
  void stage(ProducerLoad &load) {
    load.staged = stageValue({load.staged.load, load.buffer});
    auto reads =
        llvm::make_filter_range(load.staged.alloc->getUsers(), llvm::IsaPred<nv::LocalLoadOp>);
    auto isEarlier = [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); };
    load.first = *llvm::min_element(reads, isEarlier);
    load.last = *llvm::max_element(reads, isEarlier);
  }

  /// Frees the circular buffers after `last`, the outermost loop: the producer already fills them
  /// for the next iteration of the loops around while this loop runs. Replaces the deallocations of
  /// a previous loop that shares the buffers.
  void deallocBuffers(SpecialisableLoop &specialisable, Operation *last) {
    for (ProducerLoad &load : specialisable.loads)
      for (Operation *user : llvm::make_early_inc_range(load.channel->getUsers()))
        if (isa<nv::DeallocOp>(user))
          user->erase();
    b.setInsertionPointAfter(last);
    for (ProducerLoad &load : specialisable.loads)
      nv::DeallocOp::create(b, loc, load.channel);
  }

  void allocBuffers(SpecialisableLoop &specialisable) {
    if (const SpecialisableLoop *previous = specialisable.previous) {
      for (auto [load, other] : llvm::zip_equal(specialisable.loads, previous->loads))
        load.channel = other.channel;
      specialisable.barriers = previous->barriers;
      return;
    }
    for (ProducerLoad &load : specialisable.loads)
      load.channel = allocChannel(load);
    for (unsigned group = 0; group < specialisable.groups; ++group)
      specialisable.barriers.push_back(allocBarriers(arrivalsAt(specialisable, group)));
  }

  nv::ChannelOp allocChannel(const ProducerLoad &load) {
    const nv::BufferType stages = load.buffer.withDepth(depth);
    if (load.access)
      return nv::ChannelOp::create(b, loc, stages, nv::Transport::Tma);
    return nv::ChannelOp::create(b, loc, stages, nv::Transport::CpAsync, IntegerAttr(),
                                 b.getI32IntegerAttr(load.bytes), IntegerAttr());
  }

  /// How often the producer arrives at a full barrier of `group`: once, or for each copy.
  static int64_t arrivalsAt(const SpecialisableLoop &specialisable, unsigned group) {
    int64_t arrivals = 0;
    for (const ProducerLoad &load : specialisable.loads)
      arrivals += load.group == group ? load.arrivals() : 0;
    return std::max<int64_t>(arrivals, 1);
  }

  Value allocBarriers(int64_t arrivals = 1) {
    const nv::BufferType stages = barriersOfStage(b.getContext()).withDepth(depth);
    Value barriers = nv::AllocOp::create(b, loc, stages, IntegerAttr());
    nv::MbarrierInitOp::create(b, loc, barriers, warps, static_cast<uint32_t>(arrivals));
    return barriers;
  }

  /// The stage index and the mbarrier phase of an iteration.
  struct PipelineState {
    Value index, phase, oppositePhase;
  };

  PipelineState stateOf(Value count) {
    Numbers n(b, loc);
    Value stage = n.rem(count, n.of(depth));
    Value phase = n.both(n.div(count, n.of(depth)), n.of(1));
    return {stage, phase, n.either(phase, n.of(1))};
  }

  Value stageOf(Value buffer, Value stage) {
    return nv::SelectStageOp::create(b, loc, buffer, stage);
  }

  Value tensorMap(ProducerLoad &load) {
    SharedLayout shared = sharedLayoutOf(load.buffer);
    const Type element =
        isRounded(load.staged.alloc) ? b.getTF32Type() : load.buffer.getElementType();
    TmaBox box{{}, shared.swizzle(), element};
    for (const TmaAccess::Dim &dim : load.access->dims)
      box.sizes.push_back(static_cast<int32_t>(dim.size));
    llvm::copy(tmaBoxes(shared)->sizes, box.sizes.begin());
    return makeTensorMap(b, loc, function, affine, *load.access, box);
  }

  //===- the count of iterations, and of polls ---------------------------------------------===//

  /// The number of times that `op` has run so far, carried through all loops and branches around it,
  /// which it rebuilds.
  Value countExecutions(Operation *op) {
    SmallVector<Operation *> nest;
    Operation *last = op;
    for (; last->getBlock() != start.block && isa<scf::ForOp, scf::IfOp>(last->getParentOp());
         last = nest.back())
      nest.push_back(last->getParentOp());
    b.setInsertionPoint(last);
    Value count = Numbers(b, loc).of(0);
    for (Operation *&level : llvm::reverse(nest))
      if (auto branch = dyn_cast<scf::IfOp>(level)) {
        level = withResult(branch, count);
      } else {
        scf::ForOp wider = withCarried(cast<scf::ForOp>(level), count);
        count = wider.getRegionIterArgs().back();
        level = wider;
      }
    if (nest.empty())
      return count;
    for (Operation *level : ArrayRef(nest).drop_back())
      yieldLast(*level->getBlock(), level->getResults().back());
    return count;
  }

  /// The same, continuing the count of the previous loop, with which `specialisable` shares
  /// circular buffers. Loops around then carry the count after this loop.
  Value continueCount(SpecialisableLoop &specialisable) {
    Value sofar = specialisable.previous->loop.getResults().back();
    Operation *around = specialisable.loop->getBlock()->getTerminator();
    scf::ForOp wider = withCarried(specialisable.loop, sofar);
    around->replaceUsesOfWith(sofar, wider.getResults().back());
    return wider.getRegionIterArgs().back();
  }

  static void yieldLast(Block &body, Value value) {
    Operation *yield = body.getTerminator();
    yield->setOperand(yield->getNumOperands() - 1, value);
  }

  /// Lets `body` yield one more than `count`.
  void setNext(Block &body, Value count) {
    b.setInsertionPoint(body.getTerminator());
    Numbers n(b, loc);
    yieldLast(body, n.add(count, n.of(1)));
  }

  /// `loop` with one more carried value, which does not change as yet.
  scf::ForOp withCarried(scf::ForOp loop, Value init) {
    return carryValues(loop, init, [&](OpBuilder &, ArrayRef<BlockArgument> carried) {
      Block *body = carried.front().getOwner();
      for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), body->getArguments()))
        affine.replaceLeaf(from, to);
      for (SpecialisableLoop &other : loops)
        if (other.loop == loop)
          other.loop = cast<scf::ForOp>(body->getParentOp());
      return SmallVector<Value>{carried.front()};
    });
  }

  /// `branch` with one more result, which is `value` in both of its blocks as yet.
  scf::IfOp withResult(scf::IfOp branch, Value value) {
    b.setInsertionPoint(branch);
    SmallVector<Type> types(branch->getResultTypes());
    types.push_back(value.getType());
    auto wider = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(),
                                   /*addThenBlock=*/false, /*addElseBlock=*/false);
    for (auto [from, to] : llvm::zip(branch->getRegions(), wider->getRegions()))
      to.takeBody(from);
    if (wider.getElseRegion().empty()) {
      b.setInsertionPointToEnd(&wider.getElseRegion().emplaceBlock());
      scf::YieldOp::create(b, branch.getLoc());
    }
    for (Region &region : wider->getRegions())
      region.front().getTerminator()->insertOperands(branch->getNumResults(), value);
    branch.replaceAllUsesWith(wider.getResults().drop_back());
    branch.erase();
    return wider;
  }

  //===- a poll ----------------------------------------------------------------------------===//

  /// Lets the producer do `poll`, and the consumers wait for that.
  void pollInProducer(AtomicRmwOp poll) {
    loc = poll.getLoc();
    depth = pollsAhead;
    b.setInsertionPointToStart(&function.getBody().front());
    Value barriers = allocBarriers(), count = countExecutions(poll);
    Block &block = *poll->getBlock();
    if (&block != start.block && !isa<func::FuncOp>(block.getParentOp()))
      setNext(block, count);
    b.setInsertionPointAfter(poll);
    const PipelineState state = stateOf(count);
    Value barrier = stageOf(barriers, state.index);
    markProducer(poll);
    markProducer(nv::MbarrierWaitOp::create(b, loc, barrier, true, state.oppositePhase));
    markProducer(nv::ExpectOp::create(b, loc, barrier, 0));
    nv::AcquireOp::create(b, loc, barrier, state.phase);
    auto release = nv::ReleaseOp::create(b, loc, barrier, Value());
    release->setAttr(names::readByThreads, b.getUnitAttr());
  }

  //===- one group of loads ----------------------------------------------------------------===//

  void specialiseGroup(SpecialisableLoop &specialisable, unsigned group,
                       const PipelineState &state) {
    SmallVector<ProducerLoad *> loads;
    for (ProducerLoad &load : specialisable.loads)
      if (load.group == group)
        loads.push_back(&load);
    auto isEarlier = [](ProducerLoad *x, ProducerLoad *y) {
      return x->first->isBeforeInBlock(y->first);
    };
    auto endsEarlier = [](ProducerLoad *x, ProducerLoad *y) {
      return x->end()->isBeforeInBlock(y->end());
    };
    Operation *last = (*llvm::max_element(loads, endsEarlier))->last;
    b.setInsertionPoint((*llvm::min_element(loads, isEarlier))->first);
    Value barrier = stageOf(specialisable.barriers[group], state.index);
    // Before the wait, so that a copy starts as soon as its stage is released.
    SmallVector<SmallVector<Value>> coordinates;
    int64_t bytes = 0;
    for (ProducerLoad *load : loads) {
      coordinates.emplace_back();
      if (!load->access)
        continue;
      coordinates.back() = makeCoordinates(b, loc, affine, *load->access);
      bytes += copiedBytes(load->buffer);
    }
    // The producer waits for the phase before this one: a fresh mbarrier counts as released.
    llvm::SmallSet<int, 4> started;
    for (auto [load, at] : llvm::zip_equal(loads, coordinates)) {
      if (started.insert(load->warp).second) {
        auto empty = nv::MbarrierWaitOp::create(b, loc, barrier, true, state.oppositePhase);
        markProducer(empty, load->warp);
        markProducer(nv::ExpectOp::create(b, loc, barrier, bytes), load->warp);
      }
      copyInto(*load, stageOf(load->channel, state.index), at, barrier);
    }
    nv::MbarrierWaitOp::create(b, loc, barrier, false, state.phase);
    release(specialisable, loads, last, barrier);
  }

  /// How many elements in a row are equal for all that reads `alloc`, a vector; null if it is one.
  IntegerAttr runOfReads(nv::AllocOp alloc) {
    int64_t run = alloc.getType().getShape().front();
    for (Operation *user : alloc->getUsers())
      if (auto read = dyn_cast<nv::LocalLoadOp>(user))
        run = std::min(run, read.getRuns() ? read.getRuns()->front() : 1);
      else if (!isa<nv::LocalStoreOp, nv::DeallocOp>(user))
        run = 1;
    return run > 1 ? b.getI64IntegerAttr(run) : IntegerAttr();
  }

  void copyInto(ProducerLoad &load, Value stage, ValueRange coordinates, Value barrier) {
    LoadOp source = load.staged.load;
    if (load.access)
      markProducer(nv::TmaLoadOp::create(b, loc, load.map, coordinates, stage, barrier));
    else
      markProducer(nv::CopyAsyncOp::create(
                       b, source.getLoc(), source.getPtr(), stage, source.getMask(), Value(),
                       barrier, b.getI32IntegerAttr(load.bytes), runOfReads(load.staged.alloc)),
                   load.warp);
    for (Operation *user : llvm::make_early_inc_range(load.staged.alloc->getUsers()))
      if (isa<nv::RoundBufferOp>(user)) // the TMA load rounds to tf32
        user->erase();
    load.staged.store.erase();
    load.staged.load.erase();
    replaceBuffer(load.staged.alloc, stage);
  }

  /// Releases the stage after `last` has read it: an MMA, once it is waited for, or a load into
  /// registers. If the wait for the MMA is deferred by one iteration, so is the release.
  void release(SpecialisableLoop &specialisable, ArrayRef<ProducerLoad *> loads, Operation *last,
               Value barrier) {
    auto mma = dyn_cast<nv::AsyncMmaOpInterface>(last);
    b.setInsertionPointAfter(mma ? waitOf(mma) : last);
    auto release = nv::ReleaseOp::create(b, loc, barrier, Value());
    if (llvm::any_of(loads, [](ProducerLoad *load) { return load->isReadByThreads; }))
      release->setAttr(names::readByThreads, b.getUnitAttr());
    if (llvm::all_of(loads, [](ProducerLoad *load) { return !load->access; }))
      release->setAttr(names::filledByCopies, b.getUnitAttr());
    if (!mma || !specialisable.inFlight)
      return;
    nv::MmaWaitOpInterface lastWait = deferByOneIteration(specialisable.loop, mma);
    specialisable.lastWait = lastWait;
    releaseLater(release, release->getPrevNode(), lastWait);
  }

  /// Gives `op` to a warp of the producer.
  void markProducer(Operation *op, int number = 0) {
    op->setAttr(names::producerOnly, b.getI32IntegerAttr(number));
  }

  func::FuncOp function;
  OpBuilder b;
  int warps;
  Location loc = b.getUnknownLoc();
  int depth = 0;
  AffineAnalysis affine;
  std::vector<SpecialisableLoop> loops;
  ProducerStart start;
};

struct SpecialiseWarpsPass : impl::SpecialiseWarpsBase<SpecialiseWarpsPass> {
  using SpecialiseWarpsBase::SpecialiseWarpsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = onlyFunction(module);
    if (!kernel)
      return;
    const FailureOr<int> warps = Specialiser(kernel).run(
        {thirdCta, bufferedValues, tmaValues, mixedTransports, copiedVectors, pastStores});
    if (failed(warps))
      return signalPassFailure();
    if (*warps == 0)
      return;
    Launch launch = Launch::of(module);
    launch.producerWarps = *warps;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
