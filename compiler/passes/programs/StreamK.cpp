//===- StreamK.cpp - split the output tiles of the last waves over CTAs ------------------===//
// Needs: PlanPrograms chose stream-K and MakePersistent ran; the loop's loads still stand where
//        they were written.
// Gives: each CTA processes work units: K-iterations [first, last) of one output tile. The CTA that
//        has a tile's last iteration reduces the partial tiles of the others (nv.store_partial,
//        nv.load_partial) and runs the epilogue. A helper warp synchronises CTAs (nv.helper_warp).
//        Sets `partial_bytes` of `nv.launch`.
// How:   Osama et al., "Stream-K" (arXiv:2301.03598). StreamKLoop.cpp states what may be split.
//        1. If the tiles do not divide evenly over the CTAs, those of the last full wave and the
//           remaining ones are split into equal work ranges (WorkRanges.h). The other tiles stay
//           whole. The launch passes how many are split (WorkSplit).
//        2. A CTA processes its work range from the end. So it stores its only partial tile before
//           it waits for another CTA.
//        3. A CTA waits for CTAs of lower numbers alone, which the hardware has started before. By
//           rule 2 these store first, so no CTA waits forever.
//        4. Partial tiles are added in the order of the CTAs. If registers suffice, the first one
//           is loaded some iterations before it is needed.
//        5. Iterations are counted from 0. So no bound of a work range is beyond those of the whole
//           loop, which may end within a step of the last integer.
//===--------------------------------------------------------------------------------------===//
#include "analysis/EngineCycles.h"
#include "analysis/MmaWaits.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/StreamKCost.h"
#include "ir/Candidates.h"
#include "ir/Hints.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "layout/LinearLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/ProducerPartition.h"
#include "passes/programs/WorkRanges.h"
#include "support/Target.h"
#include "support/WorkSplit.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_STREAMK
#include "passes/Passes.h.inc"
namespace {

Value add(OpBuilder &b, Location loc, Value a, Value c) {
  return elementTypeOf(a.getType()).isF32() ? Value(arith::AddFOp::create(b, loc, a, c))
                                            : Value(arith::AddIOp::create(b, loc, a, c));
}

class Splitter {
public:
  Splitter(func::FuncOp kernel, scf::ForOp programs, const StreamKLoop &found)
      : kernel(kernel), b(kernel.getContext()), programs(programs), loop(found.loop),
        mma(found.mma), sum(found.sum), bytes(partialTileBytes(found)),
        gain(leastGain(found, ctasPerSm())),
        cyclesOfIteration(iterationCycles(found, ctasPerSm())) {}

  /// Returns the bytes of a partial tile.
  int64_t run() {
    split();
    return bytes;
  }

private:
  //===- work ranges -----------------------------------------------------------------------===//

  /// The CTAs of an SM share its engines.
  int64_t ctasPerSm() {
    const nv::CandidateAttr chosen = chosenCandidate(kernel);
    return chosen ? std::max<int64_t>(chosen.getCtasPerSm(), 1) : 1;
  }

  /// How many iterations before the end the first partial tile is loaded, which hides its latency; 0
  /// where registers do not hold it next to the sum and the MMA's result.
  int64_t iterationsAhead() {
    auto target = Target::parse(moduleTarget(kernel));
    const RegisterBudget budget{target->machine(),
                                static_cast<int>(moduleInt(kernel, names::numWarps, 4))};
    const bool isAccumulator = carriedAccumulatorOf(mma) == loop.getRegionIterArg(sum);
    const int64_t needed = 2 * registersOf(loop.getRegionIterArg(sum)) +
                           (isAccumulator ? 0 : registersOf(mma.getResult())) +
                           budget.machine.registers.overheadOfLoop;
    const int64_t most = budget.machine.registers.maxOfConsumer;
    return needed <= std::min(budget.launch(/*ctas=*/1), most)
               ? static_cast<int64_t>(
                     std::ceil(budget.machine.memory.partialLoadCycles / cyclesOfIteration))
               : 0;
  }

  Value countIterationsOfTile(Numbers &n) {
    Value begin = loop.getLowerBound(), end = loop.getUpperBound();
    const auto isBefore =
        loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value any = arith::CmpIOp::create(b, programs.getLoc(), isBefore, begin, end);
    // The length is below 2^32, and more than a signed number holds where the loop begins below 0.
    Value others = n.div(n.sub(n.sub(end, begin), n.of(1)), loop.getStep());
    return n.pick(any, n.add(others, n.of(1)), n.of(0));
  }

  //===- the new loop ----------------------------------------------------------------------===//

  void split() {
    Location loc = programs.getLoc();
    b.setInsertionPoint(programs);
    Numbers n(b, loc);
    const WorkRange s = findWorkRange(b, programs, countIterationsOfTile(n), gain);
    firstPeer = addHelperWarp(n, s);
    auto units = scf::ForOp::create(b, loc, n.of(0), s.allUnits, n.of(1));
    units->setDiscardableAttrs(programs->getDiscardableAttrDictionary());
    b.setInsertionPointToStart(units.getBody());
    const WorkUnit r = findWorkUnit(n, s, units.getInductionVar());
    programs.getInductionVar().replaceAllUsesWith(r.program);
    Operation *end = units.getBody()->getTerminator();
    for (Operation &op : llvm::make_early_inc_range(programs.getBody()->without_terminator()))
      op.moveBefore(end);
    programs.erase();
    finish(s, r, end, iterate(s, r));
  }

  /// Gives the helper warp its work: whether this CTA stores a partial tile, and of which CTAs it
  /// loads some. Returns the first of these; this CTA if there are none.
  Value addHelperWarp(Numbers &n, const WorkRange &s) {
    Location loc = programs.getLoc();
    const WorkUnit last = findWorkUnit(n, s, n.sub(s.units, n.of(1)));
    Value hasRange = n.less(n.of(0), s.units);
    Value stores = n.less(s.end, n.mul(n.add(s.last, n.of(1)), s.iterations));
    Value reduces = n.both(hasRange, n.equal(last.last, s.iterations));
    Value first = n.pick(reduces, firstCta(n, s, last), s.cta);
    auto helper =
        nv::HelperWarpOp::create(b, loc, n.both(hasRange, stores), first, s.cta, s.cycles);
    helper->setAttr(names::producerOnly, b.getI32IntegerAttr(0));
    return first;
  }

  /// The sum after a work unit, and the first CTA whose partial tile it lacks.
  struct Partial {
    Value sofar, peer;
  };

  /// Runs the loop over a work unit. Where registers hold a partial tile, too, a
  /// second loop runs the last iterations while the first partial tile is loaded.
  Partial iterate(const WorkRange &s, const WorkUnit &r) {
    const int64_t ahead = iterationsAhead();
    scf::ForOp tail = ahead ? loop.clone() : scf::ForOp();
    b.setInsertionPoint(loop);
    Location loc = loop.getLoc();
    Numbers n(b, loc);
    Value reduces = n.both(n.less(n.of(0), r.first), n.equal(r.last, s.iterations));
    Value peer = n.pick(reduces, firstPeer, s.cta), sofar = loop.getResult(sum);
    Value late = n.max(n.sub(r.last, n.of(ahead)), r.first);
    Value middle = n.max(n.pick(reduces, late, r.last), n.of(0)); // as coordinates must be
    narrow(loop, r.first, tail ? middle : r.last);
    b.setInsertionPointAfter(loop);
    nv::AwaitPartialsOp::create(b, loc, reduces);
    if (!tail)
      return {sofar, peer};
    Value part = nv::LoadPartialOp::create(b, loc, sofar.getType(), peer, reduces);
    Value next = n.add(peer, s.cycles);
    b.insert(tail);
    narrow(tail, middle, r.last);
    tail.getInitArgsMutable()[sum].assign(sofar);
    b.setInsertionPointAfter(tail);
    return {addIf(reduces, tail.getResult(sum), part), next};
  }

  Value addIf(Value condition, Value sofar, Value part) {
    Location loc = loop.getLoc();
    auto branch = scf::IfOp::create(b, loc, sofar.getType(), condition, /*withElseRegion=*/true);
    OpBuilder then = branch.getThenBodyBuilder(), otherwise = branch.getElseBodyBuilder();
    scf::YieldOp::create(then, loc, add(then, loc, sofar, part));
    scf::YieldOp::create(otherwise, loc, sofar);
    return branch.getResult(0);
  }

  /// Restricts `part`, a copy of the loop, to the iterations [first, last).
  void narrow(scf::ForOp part, Value first, Value last) {
    b.setInsertionPoint(part);
    Numbers n(b, part.getLoc());
    for (unsigned i = 0; i < part.getNumRegionIterArgs(); ++i)
      if (i != sum)
        part.getInitArgsMutable()[i].assign(
            advanced(part.getInitArgs()[i], advanceOf(part, i), first));
    countIterations(part);
    if (countsFromZero(part)) // to an end that says what bounds the counter
      last = n.min(part.getUpperBound(), last);
    part.setLowerBound(first);
    part.setUpperBound(last);
    part.setStep(n.of(1));
    part.setUnsignedCmp(false);
  }

  static bool countsFromZero(scf::ForOp part) {
    return matchPattern(part.getLowerBound(), m_Zero()) && matchPattern(part.getStep(), m_One());
  }

  /// Makes the counter of `part` the number of the iteration. A promise about the counter that it had
  /// does not hold for that.
  void countIterations(scf::ForOp part) {
    Value step = part.getStep(), number = part.getInductionVar();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(part.getBody());
    auto passed = arith::MulIOp::create(b, part.getLoc(), number, step);
    number.replaceAllUsesExcept(counterAt(part, passed), passed);
    part->removeAttr(indexDivisibility);
  }

  /// The counter that `part` had, after it has grown by `passed`. It is never below its first value; a
  /// maximum says so, which also keeps it one coordinate: else an argument that it begins at would
  /// become part of a tensor map's base.
  Value counterAt(scf::ForOp part, Value passed) {
    Value begin = part.getLowerBound();
    if (matchPattern(begin, m_Zero()))
      return passed;
    Location loc = part.getLoc();
    Value counter = arith::AddIOp::create(b, loc, passed, begin);
    if (part.getUnsignedCmp())
      return arith::MaxUIOp::create(b, loc, counter, begin);
    return arith::MaxSIOp::create(b, loc, counter, begin);
  }

  /// `value` after `count` iterations that add `step` each.
  Value advanced(Value value, Value step, Value count) {
    Location loc = loop.getLoc();
    Type type = step.getType();
    Type wide = isa<PtrType>(elementTypeOf(value.getType())) ? b.getI64Type() : elementTypeOf(type);
    auto tile = dyn_cast<RankedTensorType>(type);
    Value times = count;
    if (!wide.isInteger(32))
      times = arith::ExtSIOp::create(b, loc, wide, times);
    Type wideType = tile ? Type(tile.clone(wide)) : wide;
    if (tile)
      times = SplatOp::create(b, loc, wideType, times);
    if (type != wideType)
      step = arith::ExtSIOp::create(b, loc, wideType, step);
    Value offset = arith::MulIOp::create(b, loc, step, times);
    if (wide.isInteger(64) && isa<PtrType>(elementTypeOf(value.getType())))
      return AddPtrOp::create(b, loc, value.getType(), value, offset);
    return arith::AddIOp::create(b, loc, value, offset);
  }

  /// After the loop: reduces the partial tiles and runs the epilogue in the CTA that has the tile's last
  /// iteration; stores a partial tile in others.
  void finish(const WorkRange &s, const WorkUnit &r, Operation *end, const Partial &found) {
    Location loc = loop.getLoc();
    SmallVector<Operation *> rest;
    for (Operation *op = &*b.getInsertionPoint(); op != end; op = op->getNextNode())
      rest.push_back(op);
    Numbers n(b, loc);
    auto branch = scf::IfOp::create(b, loc, n.equal(r.last, s.iterations), /*withElseRegion=*/true);
    b.setInsertionPoint(branch.elseYield());
    nv::StorePartialOp::create(b, loc, found.sofar);
    Operation *whole = branch.thenYield();
    b.setInsertionPoint(whole);
    auto adds = scf::ForOp::create(b, loc, found.peer, s.cta, s.cycles, found.sofar,
                                   [](OpBuilder &inner, Location at, Value other, ValueRange sums) {
                                     Value part = nv::LoadPartialOp::create(
                                         inner, at, sums[0].getType(), other, Value());
                                     scf::YieldOp::create(inner, at, add(inner, at, sums[0], part));
                                   });
    for (Operation *op : rest)
      op->moveBefore(whole);
    loop.getResult(sum).replaceUsesWithIf(adds.getResult(0), [&](OpOperand &use) {
      return branch.getThenRegion().isAncestor(use.getOwner()->getParentRegion()) &&
             use.getOwner() != adds;
    });
  }

  func::FuncOp kernel;
  OpBuilder b;
  scf::ForOp programs, loop;
  nv::AsyncMmaOpInterface mma;
  const unsigned sum;
  const int64_t bytes, gain;
  const double cyclesOfIteration;
  Value firstPeer;
};

/// Whether the plan has chosen it; where there is no plan, whether it is legal.
bool isChosen(func::FuncOp kernel) {
  if (nv::CandidateAttr chosen = chosenCandidate(kernel))
    return chosen.getMap() == nv::ProgramMap::StreamK;
  Refusal refusal;
  return planStreamK(kernel, {}, refusal).has_value();
}

struct StreamKPass : impl::StreamKBase<StreamKPass> {
  using StreamKBase::StreamKBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = onlyFunction(module);
    if (!kernel || !programLoop(kernel) || !isChosen(kernel))
      return;
    Refusal refusal;
    const std::optional<StreamKLoop> found = findStreamKLoop(kernel, refusal);
    if (!found) {
      kernel.emitError("the loop that stream-K was chosen for is gone: ") << refusal.reason;
      return signalPassFailure();
    }
    Launch launch = Launch::of(module);
    launch.partialBytes = Splitter(kernel, programLoop(kernel), *found).run();
    launch.storeOn(module);
    remarkApplied(kernel.getLoc(), Technique::Persistence)
        << "output tiles of the last waves may be split over CTAs, which reduce partial tiles";
  }
};
} // namespace
} // namespace pantile
