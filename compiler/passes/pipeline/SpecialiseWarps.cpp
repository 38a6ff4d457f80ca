//===- SpecialiseWarps.cpp - split load-dot loops into a producer warp and consumer warps -===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: `nv.producer`, which fills circular buffers by TMA loads, their `nv.tensor_map`s, and
//        consumer loops that wait for full stages and release them; `producer_warps` of
//        `nv.launch`.
// How:   1. SpecialisableLoops.cpp decides which kernels qualify, and plans.
//        2. Each loop gets a count of its iterations, carried through the loops around it and
//        continued from a previous loop that shares its circular buffers: stage index = count mod
//        depth, phase = (count / depth) mod 2. Each load becomes a TMA load into the stage, between
//        a wait for the stage to be empty and one for it to be full.
//        3. The producer gets a copy of the scalars and the control flow that its TMA loads need,
//        and each side loses the operations of the other (ProducerPartition.cpp).
//===--------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "ir/Candidates.h"
#include "ir/Launch.h"
#include "ir/ReleasedStages.h"
#include "ir/Remarks.h"
#include "layout/TmaBoxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/memory/MakeTensorMap.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/ProducerPartition.h"
#include "passes/pipeline/SpecialisableLoops.h"

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
        planProducer(function, affine, ProgramMap::AsIs, choices, refusal);
    if (!plan) {
      if (chosen && chosen.getMap() == nv::ProgramMap::StreamK)
        return function.emitError("there is no producer for the work ranges of stream-K: ")
               << refusal.reason;
      remarkOn(function, refusal);
      return 0;
    }
    loops = std::move(plan->loops);
    remarkOnLoops();
    b.setInsertionPointToStart(&function.getBody().front());
    for (SpecialisableLoop &specialisable : loops)
      specialise(specialisable);
    if (!partitionWarps(function))
      return function.emitError("the producer needs more than was planned for it");
    return plan->warps;
  }

private:
  /// Runs before the loops are rebuilt.
  void remarkOnLoops() {
    for (SpecialisableLoop &specialisable : loops) {
      remarkApplied(specialisable.loop.getLoc(), Technique::WarpSpecialisation)
          << "a producer warp loads for this loop, through " << specialisable.depth << " stages";
      for (TmaLoad &load : specialisable.loads)
        remarkApplied(load.staged.load.getLoc(), Technique::TensorMaps)
            << "load is converted to TMA with a tensor map of " << load.access.dims.size()
            << " dimensions" << conditionsOf(load.access);
    }
  }

  static std::string conditionsOf(const TmaAccess &access) {
    std::string text;
    for (const TmaAccess::Multiple &multiple : access.multiples)
      text += ", for launches where a start or a modulus is a multiple of " +
              std::to_string(multiple.of);
    return text;
  }

  //===- one loop --------------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  }

  void specialise(SpecialisableLoop &specialisable) {
    loc = specialisable.loop.getLoc();
    Block *entry = &function.getBody().front();
    b.setInsertionPointToStart(entry);
    depth = specialisable.depth;
    SmallVector<unsigned> groupOf = groupsOf(specialisable);
    allocBuffers(specialisable, groupOf.empty() ? 0 : groupOf.back() + 1);
    SmallVector<Value> maps;
    for (TmaLoad &load : specialisable.loads)
      maps.push_back(tensorMap(load));
    Value count =
        specialisable.previous ? continueCount(specialisable) : countIterations(specialisable.loop);
    b.setInsertionPointToStart(specialisable.loop.getBody());
    Value stage = arith::RemUIOp::create(b, loc, count, constant(depth));
    Value phase = arith::AndIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, count, constant(depth)), constant(1));
    Value opposite = arith::XOrIOp::create(b, loc, phase, constant(1));
    PipelineState state{stage, phase, opposite};
    for (unsigned group = 0; group < specialisable.barriers.size(); ++group)
      specialiseGroup(specialisable, group, groupOf, specialisable.buffers, maps,
                      specialisable.barriers[group], state);
    removeFences(specialisable.loop);
    deallocBuffers(specialisable, entry->findAncestorOpInBlock(*specialisable.loop));
  }

  /// Frees the circular buffers after `last`, the outermost loop: the producer already fills them
  /// for the next iteration of the loops around while this loop runs. Replaces the deallocations of
  /// a previous loop that shares the buffers.
  void deallocBuffers(SpecialisableLoop &specialisable, Operation *last) {
    for (Value buffer : specialisable.buffers)
      for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
        if (isa<nv::DeallocOp>(user))
          user->erase();
    b.setInsertionPointAfter(last);
    for (Value buffer : specialisable.buffers)
      nv::DeallocOp::create(b, loc, buffer);
  }

  void allocBuffers(SpecialisableLoop &specialisable, unsigned groups) {
    if (specialisable.previous) {
      specialisable.buffers = specialisable.previous->buffers;
      specialisable.barriers = specialisable.previous->barriers;
      return;
    }
    for (TmaLoad &load : specialisable.loads)
      specialisable.buffers.push_back(allocCircular(load.staged.alloc.getType()));
    for (unsigned group = 0; group < groups; ++group)
      specialisable.barriers.push_back(allocBarriers());
  }

  /// The stage index and the mbarrier phase of an iteration.
  struct PipelineState {
    Value index, phase, oppositePhase;
  };

  Value allocCircular(nv::BufferType stage) {
    auto type = nv::BufferType::get(b.getContext(), depth, stage.getShape(), stage.getElementType(),
                                    stage.getSwizzle());
    auto alloc = nv::AllocOp::create(b, loc, type, IntegerAttr());
    alloc->setAttr(names::circularBuffer, b.getUnitAttr());
    return alloc;
  }

  Value allocBarriers() {
    auto plain = nv::SwizzleAttr::get(b.getContext(), {0}, 0);
    auto type = nv::BufferType::get(b.getContext(), depth, {2}, b.getI64Type(), plain);
    auto alloc = nv::AllocOp::create(b, loc, type, IntegerAttr());
    alloc->setAttr(names::circularBuffer, b.getUnitAttr());
    nv::MbarrierInitOp::create(b, loc, alloc, warps);
    return alloc;
  }

  Value stageOf(Value buffer, Value stage) {
    auto type = cast<nv::BufferType>(buffer.getType()).getStageType();
    return nv::SelectStageOp::create(b, loc, type, buffer, stage);
  }

  Value tensorMap(TmaLoad &load) {
    nv::BufferType buffer = load.staged.alloc.getType();
    SharedLayout shared = sharedLayoutOf(buffer);
    const Type element = isRounded(load.staged.alloc) ? b.getTF32Type() : buffer.getElementType();
    TmaBox box{{}, shared.swizzle(), element};
    for (const TmaAccess::Dim &dim : load.access.dims)
      box.sizes.push_back(static_cast<int32_t>(dim.size));
    llvm::copy(tmaBoxes(shared)->sizes, box.sizes.begin());
    return makeTensorMap(b, loc, function, affine, load.access, box);
  }

  /// The number of iterations of `loop` so far, carried through all loops and branches around it.
  /// Rebuilds these; `loop` becomes the new one.
  Value countIterations(scf::ForOp &loop) {
    SmallVector<Operation *> nest{loop};
    while (isa<scf::ForOp, scf::IfOp>(nest.back()->getParentOp()))
      nest.push_back(nest.back()->getParentOp());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(nest.back());
    Value count = constant(0);
    SmallVector<Block *> bodies(nest.size());
    for (size_t depth = nest.size(); depth-- > 0;) {
      if (auto level = dyn_cast<scf::ForOp>(nest[depth])) {
        scf::ForOp wider = withCarried(level, count);
        for (SpecialisableLoop &other : loops)
          if (other.loop == level)
            other.loop = wider;
        level.erase();
        nest[depth] = wider;
        bodies[depth] = wider.getBody();
        count = wider.getRegionIterArgs().back();
      } else {
        bodies[depth] = nest[depth - 1]->getBlock();
        nest[depth] = withResult(cast<scf::IfOp>(nest[depth]), bodies[depth], count);
      }
    }
    loop = cast<scf::ForOp>(nest[0]);
    Value next;
    for (auto [depth, level] : llvm::enumerate(nest)) {
      Operation *yield = bodies[depth]->getTerminator();
      b.setInsertionPoint(yield);
      if (depth == 0)
        next = arith::AddIOp::create(b, loc, count, constant(1));
      yield->insertOperands(yield->getNumOperands(), next);
      next = level->getResults().back();
    }
    return count;
  }

  /// `branch` with one more result, which is `unchanged` where `block` does not run. The caller
  /// appends it to the yield of `block`.
  scf::IfOp withResult(scf::IfOp branch, Block *block, Value unchanged) {
    b.setInsertionPoint(branch);
    SmallVector<Type> types(branch->getResultTypes());
    types.push_back(unchanged.getType());
    auto wider = scf::IfOp::create(b, branch.getLoc(), types, branch.getCondition(),
                                   /*addThenBlock=*/false, /*addElseBlock=*/false);
    for (auto [from, to] : llvm::zip(branch->getRegions(), wider->getRegions()))
      to.takeBody(from);
    if (wider.getElseRegion().empty()) {
      b.setInsertionPointToEnd(&wider.getElseRegion().emplaceBlock());
      scf::YieldOp::create(b, branch.getLoc());
    }
    for (Region &region : wider->getRegions())
      if (&region.front() != block)
        region.front().getTerminator()->insertOperands(branch->getNumResults(), unchanged);
    for (auto [from, to] : llvm::zip(branch.getResults(), wider.getResults()))
      from.replaceAllUsesWith(to);
    branch.erase();
    return wider;
  }

  /// The same, continuing the count of the previous loop, with which `specialisable` shares
  /// circular buffers. Loops around then carry the count after this loop.
  Value continueCount(SpecialisableLoop &specialisable) {
    OpBuilder::InsertionGuard guard(b);
    Value sofar = specialisable.previous->loop.getResults().back();
    Operation *around = specialisable.loop->getBlock()->getTerminator();
    scf::ForOp wider = withCarried(specialisable.loop, sofar);
    specialisable.loop.erase();
    specialisable.loop = wider;
    around->replaceUsesOfWith(sofar, wider.getResults().back());
    Value count = wider.getRegionIterArgs().back();
    Operation *yield = wider.getBody()->getTerminator();
    b.setInsertionPoint(yield);
    yield->insertOperands(yield->getNumOperands(),
                          Value(arith::AddIOp::create(b, loc, count, constant(1))));
    return count;
  }

  /// `loop` with one more carried value. The caller appends it to the yield.
  scf::ForOp withCarried(scf::ForOp loop, Value init) {
    b.setInsertionPoint(loop);
    SmallVector<Value> inits(loop.getInitArgs());
    inits.push_back(init);
    auto wider = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                    loop.getStep(), inits, nullptr, loop.getUnsignedCmp());
    wider->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    if (!wider.getBody()->empty())
      wider.getBody()->getTerminator()->erase();
    for (auto [from, to] :
         llvm::zip(loop.getBody()->getArguments(), wider.getBody()->getArguments())) {
      from.replaceAllUsesWith(to);
      affine.replaceLeaf(from, to);
    }
    for (auto [from, to] : llvm::zip(loop.getResults(), wider.getResults()))
      from.replaceAllUsesWith(to);
    wider.getBody()->getOperations().splice(wider.getBody()->end(),
                                            loop.getBody()->getOperations());
    return wider;
  }

  void specialiseGroup(SpecialisableLoop &specialisable, unsigned group, ArrayRef<unsigned> groupOf,
                       ArrayRef<Value> buffers, ArrayRef<Value> maps, Value barriers,
                       const PipelineState &state) {
    Operation *first = nullptr;
    nv::AsyncMmaOpInterface last;
    int64_t bytes = 0;
    for (auto [i, load] : llvm::enumerate(specialisable.loads))
      if (groupOf[i] == group) {
        first = !first || load.first->isBeforeInBlock(first) ? load.first : first;
        if (!last || last->isBeforeInBlock(load.last))
          last = load.last;
        bytes += copiedBytes(load.staged.alloc.getType());
      }
    b.setInsertionPoint(first);
    Value barrier = stageOf(barriers, state.index);
    // Before the wait, so that a copy starts as soon as its stage is released.
    std::vector<SmallVector<Value>> coordinates(specialisable.loads.size());
    for (auto [i, load] : llvm::enumerate(specialisable.loads))
      if (groupOf[i] == group)
        coordinates[i] = makeCoordinates(b, loc, affine, load.access);
    // The producer waits for the phase before this one: a fresh mbarrier counts as released.
    markProducer(nv::MbarrierWaitOp::create(b, loc, barrier, true, state.oppositePhase));
    markProducer(nv::ExpectOp::create(b, loc, barrier, bytes));
    for (auto [i, load] : llvm::enumerate(specialisable.loads))
      if (groupOf[i] == group)
        copyInto(load, stageOf(buffers[i], state.index), maps[i], coordinates[i], barrier);
    nv::MbarrierWaitOp::create(b, loc, barrier, false, state.phase);
    release(specialisable, last, barriers, barrier, state);
  }

  void copyInto(TmaLoad &load, Value buffer, Value map, ValueRange coordinates, Value barrier) {
    markProducer(nv::TmaLoadOp::create(b, loc, map, coordinates, buffer, barrier));
    StagedLoad staged = load.staged;
    for (Operation *user : llvm::make_early_inc_range(staged.alloc->getUsers()))
      if (isa<nv::DeallocOp, nv::RoundBufferOp>(user)) // the TMA load rounds to tf32
        user->erase();
    staged.store.erase();
    staged.load.erase();
    // Views of the buffer may come before this place.
    for (Operation *user : staged.alloc->getUsers())
      if (isa<nv::BufferTransOp>(user))
        user->moveBefore(&*b.getInsertionPoint());
    staged.alloc.replaceAllUsesWith(buffer);
    staged.alloc.erase();
  }

  /// Releases the stage after the wait for `mma`, its last reader. If that wait is deferred by one
  /// iteration, releases the stage of the iteration before, and the last one after the loop.
  void release(SpecialisableLoop &specialisable, nv::AsyncMmaOpInterface mma, Value barriers,
               Value barrier, const PipelineState &state) {
    b.setInsertionPointAfter(waitOf(mma));
    if (!specialisable.inFlight) {
      releaseStage(specialisable, barrier, Value());
      return;
    }
    nv::MmaWaitOpInterface last = deferByOneIteration(specialisable.loop, mma);
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, state.index, constant(0));
    Value before = arith::SubIOp::create(b, loc, state.index, constant(1));
    Value stage = arith::SelectOp::create(b, loc, isFirst, constant(depth - 1), before);
    Value notFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                           specialisable.loop.getInductionVar(),
                                           specialisable.loop.getLowerBound());
    releaseStage(specialisable, stageOf(barriers, stage), notFirst);
    b.setInsertionPointAfter(last);
    Value count = specialisable.loop.getResults().back();
    Value lastIteration = arith::SubIOp::create(b, loc, count, constant(1));
    Value lastStage = arith::RemUIOp::create(b, loc, lastIteration, constant(depth));
    const auto less =
        specialisable.loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value ran = arith::CmpIOp::create(b, loc, less, specialisable.loop.getLowerBound(),
                                      specialisable.loop.getUpperBound());
    releaseStage(specialisable, stageOf(barriers, lastStage), ran);
  }

  void releaseStage(SpecialisableLoop &specialisable, Value barrier, Value enable) {
    auto release = nv::ReleaseOp::create(b, loc, barrier, enable);
    if (llvm::any_of(specialisable.loads, [](TmaLoad &load) { return load.isReadByThreads; }))
      release->setAttr(names::readByThreads, b.getUnitAttr());
  }

  /// Removes the fences: no ordinary store writes the operands of MMAs any more.
  void removeFences(scf::ForOp loop) {
    if (!loop.getBody()->getOps<nv::LocalStoreOp>().empty())
      return;
    for (auto fence : llvm::make_early_inc_range(loop.getBody()->getOps<nv::FenceAsyncOp>()))
      fence.erase();
  }

  void markProducer(Operation *op) { op->setAttr(names::producerOnly, b.getUnitAttr()); }

  func::FuncOp function;
  OpBuilder b;
  int warps;
  Location loc = b.getUnknownLoc();
  int depth = 0;
  AffineAnalysis affine;
  std::vector<SpecialisableLoop> loops;
};

struct SpecialiseWarpsPass : impl::SpecialiseWarpsBase<SpecialiseWarpsPass> {
  using SpecialiseWarpsBase::SpecialiseWarpsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    if (kernels.size() != 1)
      return;
    const FailureOr<int> warps = Specialiser(kernels[0]).run({thirdCta, bufferedValues});
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
