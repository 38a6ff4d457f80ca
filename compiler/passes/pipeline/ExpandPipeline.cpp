//===- ExpandPipeline.cpp - asynchronous copies, iterations ahead of their use ----------===//
// Needs: ScheduleLoops' marks.
// Gives: each marked load is an `nv.copy_async` into a circular buffer of stages, issued `distance`
//        iterations early; the loop itself orders the accesses to its circular buffers (`nv.circular_buffer`).
// How:   1. Circular buffers are reserved before the loop. 2. The prologue copies for iterations
//        0 .. distance-1, each under the condition that the iteration exists. 3. An iteration
//        waits for its own copies (distance-1 younger groups may be under way), meets the other
//        threads, and reads its stage; the copies for iteration i + distance go to the stage that
//        iteration i - (stages - distance) read, which all threads have left since: they passed
//        this barrier after their last product on it was done, or pass another behind its wait.
//        4. After the loop everything is drained and the circular buffers end. Addresses ahead are computed
//        by a second copy of the operations that they need, with loop-carried values of their own.
//        Where these read memory, they do so one iteration before the copies and carry what they
//        read. Where the mask of a load does not change, its zeros are stored into every stage once.
//        What products read in all iterations is stored behind the prologue.
//===------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "analysis/StagedLoad.h"
#include "ir/CopyFill.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/CarriedAccumulator.h"
#include "passes/pipeline/IterationsAhead.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_EXPANDPIPELINE
#include "passes/Passes.h.inc"
namespace {

class Expander {
public:
  explicit Expander(scf::ForOp loop)
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
    if (inFlight)
      lastWait = deferByOneIteration(loop, loneAccumulation(loop));
    const SmallVector<Operation *> operands = storesOfOperands();
    reserveRings();
    issuePrologue();
    fillStages();
    for (Operation *op : llvm::reverse(operands))
      op->moveBefore(loop);
    buildLoop();
    finish();
  }

private:
  int intAttr(StringRef name) {
    return static_cast<int>(loop->getAttrOfType<IntegerAttr>(name).getInt());
  }

  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value index(int value) { return constant(builder.getI32Type(), value); }

  /// Stores in front of the loop of what was loaded for its products, and their fences, the last
  /// one first: they wait for memory, and the first copies need not.
  SmallVector<Operation *> storesOfOperands() {
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

  void reserveRings() {
    for (StagedLoad load : staged) {
      nv::BufferType stage = load.alloc.getType();
      auto type = nv::BufferType::get(stage.getContext(), depth, stage.getShape(),
                                      stage.getElementType(), stage.getSwizzle());
      auto ring = nv::AllocOp::create(builder, load.alloc.getLoc(), type, IntegerAttr());
      ring->setAttr(names::circularBuffer, builder.getUnitAttr());
      rings.push_back(ring);
    }
  }

  Value stageOf(Value ring, Value at) {
    auto type = cast<nv::BufferType>(ring.getType()).getStageType();
    return nv::SelectStageOp::create(builder, loc, type, ring, at);
  }

  /// Clones the address computation under `mapping` and issues the copies of one iteration as one
  /// group.
  void issueCopies(IRMapping &mapping, Value enable, Value stage) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (slice.ops.contains(&op))
        builder.clone(op, mapping);
    for (auto [load, ring] : llvm::zip(staged, rings)) {
      Value mask = load.load.getMask() ? mapping.lookupOrDefault(load.load.getMask()) : Value();
      auto copy = nv::CopyAsyncOp::create(builder, load.load.getLoc(),
                                          mapping.lookupOrDefault(load.load.getPtr()),
                                          stageOf(ring, stage), mask, enable, vectorOf(load));
      if (pipelined && keepsZeros(load))
        copy->setAttr(names::keepsZeros, builder.getUnitAttr());
      if (!pipelined)
        firstCopies.push_back(copy);
    }
    nv::CommitOp::create(builder, loc);
  }

  static IntegerAttr vectorOf(StagedLoad load) {
    return cast<IntegerAttr>(load.store->getAttr(names::prefetch));
  }

  bool keepsZeros(StagedLoad load) {
    Value mask = load.load.getMask();
    return mask && distance > 0 && loop.isDefinedOutsideOfLoop(mask);
  }

  /// Zeros for the stages that the loop is the first to copy to.
  void fillStages() {
    for (auto [load, ring, first] : llvm::zip(staged, rings, firstCopies)) {
      if (!keepsZeros(load))
        continue;
      for (int stage = distance; stage < depth; ++stage)
        nv::CopyAsyncOp::create(builder, load.load.getLoc(), first.getPtr(),
                                stageOf(ring, index(stage)), first.getMask(), Value(),
                                vectorOf(load))
            ->setAttr(names::onlyZeros, builder.getUnitAttr());
    }
  }

  /// `load` under `mapping` where `enable` holds; zeros elsewhere.
  Value loadWhere(LoadOp load, IRMapping &mapping, Value enable) {
    Value mask = enable;
    if (auto tile = dyn_cast<RankedTensorType>(load.getType())) {
      auto flags = RankedTensorType::get(tile.getShape(), builder.getI1Type(), tile.getEncoding());
      mask = SplatOp::create(builder, load.getLoc(), flags, enable);
    }
    if (load.getMask())
      mask = arith::AndIOp::create(builder, load.getLoc(), mapping.lookupOrDefault(load.getMask()),
                                   mask);
    auto made = cast<LoadOp>(builder.clone(*load, mapping));
    made.getMaskMutable().assign(mask);
    return made.getResult();
  }

  /// Reads what the addresses of the iteration at `iv` come from, and goes one iteration on.
  SmallVector<Value> issueLoads(Value iv, Value enable) {
    IRMapping mapping = mappingAhead(indices, iv, indicesAhead);
    for (Operation &op : loop.getBody()->without_terminator())
      if (indices.ops.contains(&op))
        builder.clone(op, mapping);
    SmallVector<Value> loaded;
    for (Operation *load : slice.loads)
      loaded.push_back(loadWhere(cast<LoadOp>(load), mapping, enable));
    indicesAhead = advanced(indices, mapping);
    return loaded;
  }

  /// The carried values of an address computation, one iteration on.
  SmallVector<Value> advanced(const AddressSlice &of, const IRMapping &mapping) {
    SmallVector<Value> next;
    for (unsigned carried : of.carried)
      next.push_back(mapping.lookupOrDefault(loop.getYieldedValues()[carried]));
    return next;
  }

  IRMapping mappingAhead(const AddressSlice &of, Value iv, ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iv);
    for (auto [argument, value] : llvm::zip(of.carried, carried))
      mapping.map(loop.getRegionIterArg(argument), value);
    return mapping;
  }

  /// The copies of the iteration at `iv`, from what was loaded for it; goes one iteration on.
  void issueIteration(Value iv, Value enable, Value stage, ArrayRef<Value> loaded) {
    IRMapping mapping = mappingAhead(slice, iv, ahead);
    for (auto [load, value] : llvm::zip_equal(slice.loads, loaded))
      mapping.map(load->getResult(0), value);
    issueCopies(mapping, enable, stage);
    ahead = advanced(slice, mapping);
  }

  void issuePrologue() {
    for (unsigned carried : slice.carried)
      ahead.push_back(loop.getInitArgs()[carried]);
    for (unsigned carried : indices.carried)
      indicesAhead.push_back(loop.getInitArgs()[carried]);
    SmallVector<SmallVector<Value>> loaded(distance + 1);
    auto at = [&](int iteration) {
      Value ahead = distanceOf(builder, loop, iteration);
      Value iv = arith::AddIOp::create(builder, loc, loop.getLowerBound(), ahead);
      return std::pair(iv, existsFromStart(builder, loop, ahead));
    };
    for (int iteration = 0; iteration <= distance && !slice.loads.empty(); ++iteration) {
      auto [iv, enable] = at(iteration);
      loaded[iteration] = issueLoads(iv, enable);
    }
    for (int iteration = 0; iteration < distance; ++iteration) {
      auto [iv, enable] = at(iteration);
      issueIteration(iv, enable, index(iteration), loaded[iteration]);
    }
    loadedAhead = loaded.back();
  }

  void buildLoop() {
    Value stepsAhead = distanceOf(builder, loop, distance),
          stepsOfLoads = distanceOf(builder, loop, distance + 1);
    SmallVector<Value> inits(loop.getInitArgs());
    for (const auto *values : {&ahead, &indicesAhead, &loadedAhead})
      inits.append(*values);
    inits.append({index(0), index(distance % depth)});
    pipelined = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                   loop.getStep(), inits, nullptr, loop.getUnsignedCmp());
    if (loop->hasAttr(names::carriesAccumulator))
      pipelined->setAttr(names::carriesAccumulator, builder.getUnitAttr());
    if (!pipelined.getBody()->empty())
      pipelined.getBody()->getTerminator()->erase();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(pipelined.getBody());
    unsigned own = loop.getNumRegionIterArgs();
    ValueRange args = pipelined.getRegionIterArgs();
    Value readStage = args[args.size() - 2], writeStage = args.back();
    ValueRange extra = args.drop_front(own);
    for (auto *values : {&ahead, &indicesAhead, &loadedAhead}) {
      llvm::copy(extra.take_front(values->size()), values->begin());
      extra = extra.drop_front(values->size());
    }

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), pipelined.getInductionVar());
    mapping.map(loop.getRegionIterArgs(), args.take_front(own));
    enterIteration(mapping, readStage);
    Value now = pipelined.getInductionVar();
    auto issue = [&] {
      Value iv = arith::AddIOp::create(builder, loc, now, stepsAhead);
      issueIteration(iv, existsBehind(builder, loop, now, stepsAhead), writeStage, loadedAhead);
      if (slice.loads.empty())
        return;
      iv = arith::AddIOp::create(builder, loc, now, stepsOfLoads);
      loadedAhead = issueLoads(iv, existsBehind(builder, loop, now, stepsOfLoads));
    };
    cloneBody(mapping, issue);

    SmallVector<Value> yields;
    for (Value value : loop.getYieldedValues())
      yields.push_back(mapping.lookupOrDefault(value));
    for (const auto *values : {&ahead, &indicesAhead, &loadedAhead})
      yields.append(*values);
    yields.append({nextStage(readStage), nextStage(writeStage)});
    scf::YieldOp::create(builder, loc, yields);
  }

  /// Also one of a loop inside: what it reads may be copied out here.
  bool hasAsyncMma() {
    return loop.getBody()
        ->walk([](nv::AsyncMmaOpInterface) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  static bool storesLocally(Operation &op) {
    return op.walk([](nv::LocalStoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Whether the body stores what its first MMA reads: the fence and the barrier between those two are
  /// for the copies, too.
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
                            [&](Value buffer) { return fenced.contains(bufferOf(buffer)); });
      else if (op.walk([](nv::AsyncMmaOpInterface) {
                   return WalkResult::interrupt();
                 }).wasInterrupted())
        return false;
    }
    return false;
  }

  /// What an operand is a view of.
  static Value bufferOf(Value operand) {
    while (auto view = operand.getDefiningOp<nv::BufferTransOp>())
      operand = view.getBuffer();
    return operand;
  }

  /// This iteration's copies have landed, for every thread.
  void enterIteration(IRMapping &mapping, Value readStage) {
    nv::WaitOp::create(builder, loc, distance - 1);
    if (hasAsyncMma() && !fencesFirstMma())
      nv::FenceAsyncOp::create(builder, loc);
    nv::BarrierOp::create(builder, loc);
    for (auto [load, ring] : llvm::zip(staged, rings))
      mapping.map(load.alloc.getBuffer(), stageOf(ring, readStage));
  }

  /// Copies for later iterations go between the issue of a product and the wait for it, else first,
  /// or in front of the first product, whose operands are read by then. Where they go to the stage of
  /// a product that was under way until this wait, they follow it, when all threads have waited.
  /// Products need a fence of their own only behind what the body itself stores.
  void cloneBody(IRMapping &mapping, function_ref<void()> issue) {
    llvm::DenseSet<Operation *> dropped;
    bool hasStored = false;
    for (StagedLoad load : staged)
      for (Operation *op :
           {load.load.getOperation(), load.store.getOperation(), load.alloc.getOperation()})
        dropped.insert(op);
    const bool inFront = loop.getBody()->getOps<nv::MmaWaitOpInterface>().empty();
    const bool late = inFront && !loop.getBody()->getOps<DotOp>().empty();
    const bool behindWait = inFlight >= depth - distance;
    bool issued = inFront && !late;
    if (issued)
      issue();
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto dealloc = dyn_cast<nv::DeallocOp>(op);
      if (dropped.contains(&op) ||
          (dealloc && dropped.contains(dealloc.getBuffer().getDefiningOp())) ||
          (isa<nv::FenceAsyncOp>(op) && !std::exchange(hasStored, false)))
        continue;
      hasStored |= storesLocally(op);
      const bool issuesHere =
          (late ? isa<DotOp>(op) : isa<nv::MmaWaitOpInterface>(op)) && !std::exchange(issued, true);
      if (issuesHere && !behindWait)
        issue();
      builder.clone(op, mapping);
      if (issuesHere && behindWait) {
        nv::BarrierOp::create(builder, loc);
        issue();
      }
    }
  }

  Value nextStage(Value stage) {
    Value next = arith::AddIOp::create(builder, loc, stage, index(1));
    Value wraps = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, next, index(depth));
    return arith::SelectOp::create(builder, loc, wraps, index(0), next);
  }

  void finish() {
    nv::WaitOp::create(builder, loc, 0);
    loop->replaceAllUsesWith(pipelined.getResults().take_front(loop.getNumResults()));
    if (lastWait)
      builder.setInsertionPointAfter(lastWait);
    for (Value ring : rings)
      nv::DeallocOp::create(builder, loc, ring);
    loop.erase();
  }

  scf::ForOp loop, pipelined;
  nv::MmaWaitOpInterface lastWait; ///< after the loop, for what it leaves in flight
  OpBuilder builder;
  Location loc;
  int distance, depth, inFlight;
  SmallVector<StagedLoad> staged;
  AddressSlice slice;   ///< of the copies' addresses
  AddressSlice indices; ///< of the addresses of the loads that `slice` begins with
  SmallVector<Value> rings;
  SmallVector<nv::CopyAsyncOp> firstCopies; ///< of the prologue, iteration by iteration
  SmallVector<Value> ahead;                 ///< carried values of `slice`, `distance` iterations on
  SmallVector<Value> indicesAhead;          ///< those of `indices`, one iteration more
  SmallVector<Value> loadedAhead;           ///< what the loads gave, `distance` iterations on
};

struct ExpandPipelinePass : impl::ExpandPipelineBase<ExpandPipelinePass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(names::distance))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      Expander(loop).run();
  }
};
} // namespace
} // namespace pantile
