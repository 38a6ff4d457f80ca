//===- SpecialiseWarps.cpp - an extra warp that loads what the others multiply ------------===//
// Needs: StageOperands ran; loads still write the buffers that the products read.
// Gives: `nv.producer`, which runs ahead through circular buffers of stages by TMA, `nv.tensor_map`s, and loops
//        that only wait for full stages and release them; `producer_warps` of `nv.launch`.
// How:   1. FedLoops.cpp says which kernels qualify, and plans. 2. Such a loop gets a turn, counted through
//        all loops around it and on from a loop in front with the same circular buffer: stage = turn mod stages,
//        phase = turn / stages. Its loads become copies by the producer into the stage. 3. The
//        producer gets a copy of the scalars and the control flow that its copies need, and each side
//        loses the other's operations.
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
#include "passes/pipeline/FedLoops.h"
#include "passes/pipeline/ProducerSlice.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SPECIALISEWARPS
#include "passes/Passes.h.inc"
namespace {
/// What TMA brings into one stage.
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

  /// The warps of the producer; none, and nothing changed, if there can be no producer.
  FailureOr<int> run(ProducerChoices choices) {
    if (nv::CandidateAttr chosen = chosenCandidate(function); chosen && !chosen.getProducer())
      return 0;
    Refusal refusal;
    std::optional<ProducerPlan> plan =
        planProducer(function, affine, ProgramMap::AsIs, choices, refusal);
    if (!plan) {
      remarkOn(function, refusal);
      return 0;
    }
    loops = std::move(plan->loops);
    remarkOnLoops();
    b.setInsertionPointToStart(&function.getBody().front());
    for (FedLoop &fed : loops)
      feed(fed);
    if (!splitRoles(function))
      return function.emitError("the producer needs more than was planned for it");
    return plan->warps;
  }

private:
  /// Before they are rebuilt.
  void remarkOnLoops() {
    for (FedLoop &fed : loops) {
      remarkApplied(fed.loop.getLoc(), Technique::WarpSpecialisation)
          << "a warp of its own loads for this loop, through " << fed.depth << " buffers";
      for (Raised &raised : fed.loads)
        remarkApplied(raised.staged.load.getLoc(), Technique::TensorMaps)
            << "load is raised to a tensor map of " << raised.access.dims.size() << " dimensions"
            << conditionsOf(raised.access);
    }
  }

  static std::string conditionsOf(const TmaAccess &access) {
    std::string text;
    for (const TmaAccess::Multiple &multiple : access.multiples)
      text += ", for launches where a start or what a remainder is taken by is a multiple of " +
              std::to_string(multiple.of);
    return text;
  }

  //===- one loop --------------------------------------------------------------------------===//

  Value index(int64_t value) { return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value); }

  void feed(FedLoop &fed) {
    loc = fed.loop.getLoc();
    Block *entry = &function.getBody().front();
    b.setInsertionPointToStart(entry);
    depth = fed.depth;
    SmallVector<unsigned> groupOf = groupsOf(fed);
    makeRings(fed, groupOf.empty() ? 0 : groupOf.back() + 1);
    SmallVector<Value> maps;
    for (Raised &raised : fed.loads)
      maps.push_back(tensorMap(raised));
    Value turn = fed.before ? countOn(fed) : countTurns(fed.loop);
    b.setInsertionPointToStart(fed.loop.getBody());
    Value stage = arith::RemUIOp::create(b, loc, turn, index(depth));
    Value parity =
        arith::AndIOp::create(b, loc, arith::DivUIOp::create(b, loc, turn, index(depth)), index(1));
    Value other = arith::XOrIOp::create(b, loc, parity, index(1));
    Turn now{stage, parity, other};
    for (unsigned group = 0; group < fed.barriers.size(); ++group)
      feedGroup(fed, group, groupOf, fed.rings, maps, fed.barriers[group], now);
    removeFences(fed.loop);
    endRings(fed, entry->findAncestorOpInBlock(*fed.loop));
  }

  /// Behind `last`: the producer fills a circular buffer for the next round of the loops around before this
  /// one's end. An end from the loop before may be what stands there.
  void endRings(FedLoop &fed, Operation *last) {
    for (Value ring : fed.rings)
      for (Operation *user : llvm::make_early_inc_range(ring.getUsers()))
        if (isa<nv::DeallocOp>(user))
          user->erase();
    b.setInsertionPointAfter(last);
    for (Value ring : fed.rings)
      nv::DeallocOp::create(b, loc, ring);
  }

  void makeRings(FedLoop &fed, unsigned groups) {
    if (fed.before) {
      fed.rings = fed.before->rings;
      fed.barriers = fed.before->barriers;
      return;
    }
    for (Raised &raised : fed.loads)
      fed.rings.push_back(ring(raised.staged.alloc.getType()));
    for (unsigned group = 0; group < groups; ++group)
      fed.barriers.push_back(makeBarriers());
  }

  struct Turn {
    Value stage, parity, otherParity;
  };

  Value ring(nv::BufferType stage) {
    auto type = nv::BufferType::get(b.getContext(), depth, stage.getShape(), stage.getElementType(),
                                    stage.getSwizzle());
    auto alloc = nv::AllocOp::create(b, loc, type, IntegerAttr());
    alloc->setAttr(names::circularBuffer, b.getUnitAttr());
    return alloc;
  }

  Value makeBarriers() {
    auto plain = nv::SwizzleAttr::get(b.getContext(), {0}, 0);
    auto type = nv::BufferType::get(b.getContext(), depth, {2}, b.getI64Type(), plain);
    auto alloc = nv::AllocOp::create(b, loc, type, IntegerAttr());
    alloc->setAttr(names::circularBuffer, b.getUnitAttr());
    nv::MbarrierInitOp::create(b, loc, alloc, warps);
    return alloc;
  }

  Value stageOf(Value ring, Value stage) {
    auto type = cast<nv::BufferType>(ring.getType()).getStageType();
    return nv::SelectStageOp::create(b, loc, type, ring, stage);
  }

  Value tensorMap(Raised &raised) {
    nv::BufferType buffer = raised.staged.alloc.getType();
    SharedLayout shared = sharedLayoutOf(buffer);
    const Type element = isRounded(raised.staged.alloc) ? b.getTF32Type() : buffer.getElementType();
    TmaBox box{{}, shared.swizzle(), element};
    for (const TmaAccess::Dim &dim : raised.access.dims)
      box.sizes.push_back(static_cast<int32_t>(dim.size));
    llvm::copy(tmaBoxes(shared)->sizes, box.sizes.begin());
    return makeTensorMap(b, loc, function, affine, raised.access, box);
  }

  /// A count of the iterations of `loop` so far, carried through all loops and branches around it.
  /// Rebuilds them; `loop` becomes the new one.
  Value countTurns(scf::ForOp &loop) {
    SmallVector<Operation *> nest{loop};
    while (isa<scf::ForOp, scf::IfOp>(nest.back()->getParentOp()))
      nest.push_back(nest.back()->getParentOp());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(nest.back());
    Value turn = index(0);
    SmallVector<Block *> bodies(nest.size());
    for (size_t depth = nest.size(); depth-- > 0;) {
      if (auto level = dyn_cast<scf::ForOp>(nest[depth])) {
        scf::ForOp wider = withCarried(level, turn);
        for (FedLoop &other : loops)
          if (other.loop == level)
            other.loop = wider;
        level.erase();
        nest[depth] = wider;
        bodies[depth] = wider.getBody();
        turn = wider.getRegionIterArgs().back();
      } else {
        bodies[depth] = nest[depth - 1]->getBlock();
        nest[depth] = withResult(cast<scf::IfOp>(nest[depth]), bodies[depth], turn);
      }
    }
    loop = cast<scf::ForOp>(nest[0]);
    Value next;
    for (auto [depth, level] : llvm::enumerate(nest)) {
      Operation *yield = bodies[depth]->getTerminator();
      b.setInsertionPoint(yield);
      if (depth == 0)
        next = arith::AddIOp::create(b, loc, turn, index(1));
      yield->insertOperands(yield->getNumOperands(), next);
      next = level->getResults().back();
    }
    return turn;
  }

  /// `branch` with one more result, which is `unchanged` where `block` does not run; the yield of
  /// `block` still lacks it.
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

  /// The same, from where the loop in front stopped; loops around carry on this one's count.
  Value countOn(FedLoop &fed) {
    OpBuilder::InsertionGuard guard(b);
    Value sofar = fed.before->loop.getResults().back();
    Operation *around = fed.loop->getBlock()->getTerminator();
    scf::ForOp wider = withCarried(fed.loop, sofar);
    fed.loop.erase();
    fed.loop = wider;
    around->replaceUsesOfWith(sofar, wider.getResults().back());
    Value turn = wider.getRegionIterArgs().back();
    Operation *yield = wider.getBody()->getTerminator();
    b.setInsertionPoint(yield);
    yield->insertOperands(yield->getNumOperands(),
                          Value(arith::AddIOp::create(b, loc, turn, index(1))));
    return turn;
  }

  /// `loop` with one more carried value; the yield still lacks it.
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

  void feedGroup(FedLoop &fed, unsigned group, ArrayRef<unsigned> groupOf, ArrayRef<Value> rings,
                 ArrayRef<Value> maps, Value barriers, const Turn &now) {
    Operation *first = nullptr;
    nv::AsyncMmaOpInterface last;
    int64_t bytes = 0;
    for (auto [i, raised] : llvm::enumerate(fed.loads))
      if (groupOf[i] == group) {
        first = !first || raised.first->isBeforeInBlock(first) ? raised.first : first;
        if (!last || last->isBeforeInBlock(raised.last))
          last = raised.last;
        bytes += copiedBytes(raised.staged.alloc.getType());
      }
    b.setInsertionPoint(first);
    Value barrier = stageOf(barriers, now.stage);
    // Before the wait, so that a copy starts as soon as its stage is released.
    std::vector<SmallVector<Value>> coordinates(fed.loads.size());
    for (auto [i, raised] : llvm::enumerate(fed.loads))
      if (groupOf[i] == group)
        coordinates[i] = makeCoordinates(b, loc, affine, raised.access);
    markProducer(nv::MbarrierWaitOp::create(b, loc, barrier, true, now.otherParity));
    markProducer(nv::ExpectOp::create(b, loc, barrier, bytes));
    for (auto [i, raised] : llvm::enumerate(fed.loads))
      if (groupOf[i] == group)
        copyInto(raised, stageOf(rings[i], now.stage), maps[i], coordinates[i], barrier);
    nv::MbarrierWaitOp::create(b, loc, barrier, false, now.parity);
    release(fed, last, barriers, barrier, now);
  }

  void copyInto(Raised &raised, Value buffer, Value map, ValueRange coordinates, Value barrier) {
    markProducer(nv::TmaLoadOp::create(b, loc, map, coordinates, buffer, barrier));
    StagedLoad staged = raised.staged;
    for (Operation *user : llvm::make_early_inc_range(staged.alloc->getUsers()))
      if (isa<nv::DeallocOp, nv::RoundBufferOp>(user)) // the copy rounds
        user->erase();
    staged.store.erase();
    staged.load.erase();
    // Views of the buffer may stand above this place.
    for (Operation *user : staged.alloc->getUsers())
      if (isa<nv::BufferTransOp>(user))
        user->moveBefore(&*b.getInsertionPoint());
    staged.alloc.replaceAllUsesWith(buffer);
    staged.alloc.erase();
  }

  void release(FedLoop &fed, nv::AsyncMmaOpInterface product, Value barriers, Value barrier,
               const Turn &now) {
    b.setInsertionPointAfter(waitOf(product));
    if (!fed.inFlight) {
      releaseStage(fed, barrier, Value());
      return;
    }
    nv::MmaWaitOpInterface last = deferByOneIteration(fed.loop, product);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, now.stage, index(0));
    Value before = arith::SubIOp::create(b, loc, now.stage, index(1));
    Value stage = arith::SelectOp::create(b, loc, isFirst, index(depth - 1), before);
    Value notFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                           fed.loop.getInductionVar(), fed.loop.getLowerBound());
    releaseStage(fed, stageOf(barriers, stage), notFirst);
    b.setInsertionPointAfter(last);
    Value turns = fed.loop.getResults().back();
    Value lastTurn = arith::SubIOp::create(b, loc, turns, index(1));
    Value lastStage = arith::RemUIOp::create(b, loc, lastTurn, index(depth));
    const auto less =
        fed.loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value ran =
        arith::CmpIOp::create(b, loc, less, fed.loop.getLowerBound(), fed.loop.getUpperBound());
    releaseStage(fed, stageOf(barriers, lastStage), ran);
  }

  void releaseStage(FedLoop &fed, Value barrier, Value enable) {
    auto release = nv::ReleaseOp::create(b, loc, barrier, enable);
    if (llvm::any_of(fed.loads, [](Raised &raised) { return raised.isReadByThreads; }))
      release->setAttr(names::readByThreads, b.getUnitAttr());
  }

  /// Ordinary stores no longer write what the products read.
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
  std::vector<FedLoop> loops;
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
