//===- ExpandPipeline.cpp - software pipelining of loads by cp.async ----------------------===//
// Needs: the marks of ScheduleLoops.
// Gives: each marked load is an `nv.copy_async` into a circular buffer, issued `distance`
//        iterations before its use. The loop itself synchronises accesses to its circular buffers
//        (`nv.circular_buffer`).
// How:   1. Circular buffers are allocated before the loop.
//        2. The prologue issues the copies of iterations 0 .. distance-1, each under the condition
//        that the iteration exists.
//        3. Iteration i waits for its own copies (distance-1 later groups may be in flight), then a
//        barrier follows, and it reads its stage. The copies for iteration i + distance overwrite
//        the stage that iteration i - (depth - distance) has read. All threads are done with it:
//        they passed this barrier after their last MMA on it was complete, or pass another one
//        after its wait.
//        4. After the loop all copies are waited for, and the circular buffers are freed. Addresses
//        of later iterations are computed by a clone of the address computation, with loop-carried
//        values of its own. If that computation loads (indirect accesses), its loads run one
//        iteration before the copies, and their results are carried. If the mask of a load is
//        loop-invariant, its zeros are stored into every stage once. Loop-invariant operands are
//        stored after the prologue.
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
#include "passes/pipeline/LaterIterations.h"

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
    const SmallVector<Operation *> operands = invariantOperandStores();
    allocBuffers();
    issuePrologue();
    zeroFillStages();
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

  /// Clones the address computation with `mapping`, and issues the copies of one iteration as one
  /// group.
  void issueCopies(IRMapping &mapping, Value enable, Value stage) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (slice.ops.contains(&op))
        builder.clone(op, mapping);
    for (auto [load, buffer] : llvm::zip(staged, buffers)) {
      Value mask = load.load.getMask() ? mapping.lookupOrDefault(load.load.getMask()) : Value();
      auto copy = nv::CopyAsyncOp::create(builder, load.load.getLoc(),
                                          mapping.lookupOrDefault(load.load.getPtr()),
                                          stageOf(buffer, stage), mask, enable, vectorOf(load));
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

  /// Stores the zeros of masked loads into the stages to which the prologue does not copy.
  void zeroFillStages() {
    for (auto [load, buffer, first] : llvm::zip(staged, buffers, firstCopies)) {
      if (!keepsZeros(load))
        continue;
      for (int stage = distance; stage < depth; ++stage)
        nv::CopyAsyncOp::create(builder, load.load.getLoc(), first.getPtr(),
                                stageOf(buffer, index(stage)), first.getMask(), Value(),
                                vectorOf(load))
            ->setAttr(names::onlyZeros, builder.getUnitAttr());
    }
  }

  /// The clone of `load` with `mapping`, masked by `enable`.
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

  /// Loads what the addresses of the iteration at `iv` depend on, and advances the carried indices
  /// by one iteration.
  SmallVector<Value> issueLoads(Value iv, Value enable) {
    IRMapping mapping = mappingAt(indices, iv, laterIndices);
    for (Operation &op : loop.getBody()->without_terminator())
      if (indices.ops.contains(&op))
        builder.clone(op, mapping);
    SmallVector<Value> loaded;
    for (Operation *load : slice.loads)
      loaded.push_back(loadWhere(cast<LoadOp>(load), mapping, enable));
    laterIndices = advanced(indices, mapping);
    return loaded;
  }

  /// The carried values of an address computation, advanced by one iteration.
  SmallVector<Value> advanced(const AddressSlice &of, const IRMapping &mapping) {
    SmallVector<Value> next;
    for (unsigned carried : of.carried)
      next.push_back(mapping.lookupOrDefault(loop.getYieldedValues()[carried]));
    return next;
  }

  IRMapping mappingAt(const AddressSlice &of, Value iv, ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iv);
    for (auto [argument, value] : llvm::zip(of.carried, carried))
      mapping.map(loop.getRegionIterArg(argument), value);
    return mapping;
  }

  /// Issues the copies of the iteration at `iv`, whose addresses depend on `loaded`, and advances
  /// the carried values by one iteration.
  void issueIteration(Value iv, Value enable, Value stage, ArrayRef<Value> loaded) {
    IRMapping mapping = mappingAt(slice, iv, later);
    for (auto [load, value] : llvm::zip_equal(slice.loads, loaded))
      mapping.map(load->getResult(0), value);
    issueCopies(mapping, enable, stage);
    later = advanced(slice, mapping);
  }

  void issuePrologue() {
    for (unsigned carried : slice.carried)
      later.push_back(loop.getInitArgs()[carried]);
    for (unsigned carried : indices.carried)
      laterIndices.push_back(loop.getInitArgs()[carried]);
    SmallVector<SmallVector<Value>> loaded(distance + 1);
    auto at = [&](int iteration) {
      Value offset = distanceOf(builder, loop, iteration);
      Value iv = arith::AddIOp::create(builder, loc, loop.getLowerBound(), offset);
      return std::pair(iv, existsFromStart(builder, loop, offset));
    };
    for (int iteration = 0; iteration <= distance && !slice.loads.empty(); ++iteration) {
      auto [iv, enable] = at(iteration);
      loaded[iteration] = issueLoads(iv, enable);
    }
    for (int iteration = 0; iteration < distance; ++iteration) {
      auto [iv, enable] = at(iteration);
      issueIteration(iv, enable, index(iteration), loaded[iteration]);
    }
    laterLoads = loaded.back();
  }

  void buildLoop() {
    Value copyDistance = distanceOf(builder, loop, distance),
          loadDistance = distanceOf(builder, loop, distance + 1);
    SmallVector<Value> inits(loop.getInitArgs());
    for (const auto *values : {&later, &laterIndices, &laterLoads})
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
    for (auto *values : {&later, &laterIndices, &laterLoads}) {
      llvm::copy(extra.take_front(values->size()), values->begin());
      extra = extra.drop_front(values->size());
    }

    IRMapping mapping;
    mapping.map(loop.getInductionVar(), pipelined.getInductionVar());
    mapping.map(loop.getRegionIterArgs(), args.take_front(own));
    enterIteration(mapping, readStage);
    Value now = pipelined.getInductionVar();
    auto issue = [&] {
      Value iv = arith::AddIOp::create(builder, loc, now, copyDistance);
      issueIteration(iv, existsAfter(builder, loop, now, copyDistance), writeStage, laterLoads);
      if (slice.loads.empty())
        return;
      iv = arith::AddIOp::create(builder, loc, now, loadDistance);
      laterLoads = issueLoads(iv, existsAfter(builder, loop, now, loadDistance));
    };
    cloneBody(mapping, issue);

    SmallVector<Value> yields;
    for (Value value : loop.getYieldedValues())
      yields.push_back(mapping.lookupOrDefault(value));
    for (const auto *values : {&later, &laterIndices, &laterLoads})
      yields.append(*values);
    yields.append({nextStage(readStage), nextStage(writeStage)});
    scf::YieldOp::create(builder, loc, yields);
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

  /// The buffer of which `operand` is a view.
  static Value viewedBuffer(Value operand) {
    while (auto view = operand.getDefiningOp<nv::BufferTransOp>())
      operand = view.getBuffer();
    return operand;
  }

  /// Waits for the copies of this iteration, and makes them visible to all threads.
  void enterIteration(IRMapping &mapping, Value readStage) {
    nv::WaitOp::create(builder, loc, distance - 1);
    if (hasAsyncMma() && !fencesFirstMma())
      nv::FenceAsyncOp::create(builder, loc);
    nv::BarrierOp::create(builder, loc);
    for (auto [load, buffer] : llvm::zip(staged, buffers))
      mapping.map(load.alloc.getBuffer(), stageOf(buffer, readStage));
  }

  /// Clones the body, and issues the copies for a later iteration: between an MMA and its wait;
  /// else before the first dot, whose operands are read by then; else at the start. If the copies
  /// overwrite a stage whose MMA is in flight until that wait, they follow the wait and a barrier.
  /// An MMA needs a fence of its own only after stores of the body itself.
  void cloneBody(IRMapping &mapping, function_ref<void()> issue) {
    llvm::DenseSet<Operation *> dropped;
    bool hasStored = false;
    for (StagedLoad load : staged)
      for (Operation *op :
           {load.load.getOperation(), load.store.getOperation(), load.alloc.getOperation()})
        dropped.insert(op);
    const bool hasNoWait = loop.getBody()->getOps<nv::MmaWaitOpInterface>().empty();
    const bool beforeDot = hasNoWait && !loop.getBody()->getOps<DotOp>().empty();
    const bool afterWait = inFlight >= depth - distance;
    bool issued = hasNoWait && !beforeDot;
    if (issued)
      issue();
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto dealloc = dyn_cast<nv::DeallocOp>(op);
      if (dropped.contains(&op) ||
          (dealloc && dropped.contains(dealloc.getBuffer().getDefiningOp())) ||
          (isa<nv::FenceAsyncOp>(op) && !std::exchange(hasStored, false)))
        continue;
      hasStored |= storesLocally(op);
      const bool issuesHere = (beforeDot ? isa<DotOp>(op) : isa<nv::MmaWaitOpInterface>(op)) &&
                              !std::exchange(issued, true);
      if (issuesHere && !afterWait)
        issue();
      builder.clone(op, mapping);
      if (issuesHere && afterWait) {
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
    for (Value buffer : buffers)
      nv::DeallocOp::create(builder, loc, buffer);
    loop.erase();
  }

  scf::ForOp loop, pipelined;
  nv::MmaWaitOpInterface lastWait; ///< after the loop, for what it leaves in flight
  OpBuilder builder;
  Location loc;
  int distance, depth, inFlight;
  SmallVector<StagedLoad> staged;
  AddressSlice slice;   ///< the computation of the addresses of copies
  AddressSlice indices; ///< the same for the loads that `slice` begins with
  SmallVector<Value> buffers;
  SmallVector<nv::CopyAsyncOp> firstCopies; ///< of the prologue, per iteration
  SmallVector<Value> later;        ///< carried values of `slice`, `distance` iterations later
  SmallVector<Value> laterIndices; ///< those of `indices`, one iteration after that
  SmallVector<Value> laterLoads;   ///< results of the loads, `distance` iterations later
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
