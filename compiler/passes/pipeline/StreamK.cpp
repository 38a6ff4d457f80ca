//===- StreamK.cpp - programs split over CTAs, so that the last wave is full -----------===//
// Needs: MakePersistent ran; the loop's loads still stand where they were written.
// Gives: a block's round is a program from one iteration of its load-dot loop to another; who has
//        the last iteration adds the parts of the others (nv.store_partial, nv.load_partial) and does the
//        rest of the program; an extra warp tells the others (nv.helper_warp); `partial_bytes` of
//        `nv.launch`.
// How:   Osama et al., "Stream-K" (arXiv:2301.03598): of programs and blocks that do not go into
//        each other, the rest and one program a block more are cut evenly by iterations, all others
//        run whole afterwards. The launch says how (Cut). Blocks run their parts from the last
//        one, so each hands over its only part before it waits for another's, and waits for blocks
//        of lower numbers alone: these have started before, whatever else the GPU runs. Parts are
//        added in the order of the blocks; where registers suffice the first is asked for some
//        iterations before it is needed. Each value that the loop carries must be the sum or
//        advance evenly, and what precedes the loop must be free to run twice. A part
//        counts iterations, from 0: no bound of it is beyond those of the whole loop, which may end
//        within a step of the last integer.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "ir/Candidates.h"
#include "ir/Hints.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "ir/SplitPrograms.h"
#include "layout/LinearLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/ProducerPartition.h"
#include "passes/pipeline/Shares.h"
#include "passes/pipeline/StreamKLoop.h"
#include "support/Target.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_STREAMK
#include "passes/Passes.h.inc"
namespace {

class Splitter {
public:
  Splitter(func::FuncOp kernel, scf::ForOp programs, const StreamKLoop &found)
      : kernel(kernel), b(kernel.getContext()), programs(programs), loop(found.loop),
        product(found.mma), position(found.accumulator), bounds(found.bounds) {}

  /// Returns the bytes of a partial tile.
  int64_t run() {
    split();
    return bytes;
  }

private:
  //===- shares ----------------------------------------------------------------------------===//

  /// The fewest iterations that must be saved for each part that is handed over: writing it and
  /// reading it again by L2, and two ways there and back, beside the MMAs of an iteration. As much as 128 times 128 elements take on an H200, 3 to 5 microseconds.
  int64_t leastGain() {
    const MemoryThresholds &costs = machineOf(kernel).memory;
    const double cyclesOfPart =
        2.0 * static_cast<double>(bytes) / costs.partialBytesPerCycle + costs.flagCycles;
    return static_cast<int64_t>(std::ceil(cyclesOfPart / cyclesOfIteration()));
  }

  /// Of other types than fp16, as if they were as fast.
  double cyclesOfIteration() {
    const double productsPerCycle = machineOf(kernel).perCycle.fp16 / 2;
    auto shape = cast<RankedTensorType>(product.getResult().getType()).getShape();
    auto right = cast<nv::BufferType>(product.getRhs().getType()).getShape();
    return static_cast<double>(shape[0] * shape[1] * right[0]) / productsPerCycle;
  }

  /// How many iterations are left when the first part is asked for: so long does it take from L2.
  /// None where it has no room beside the sum.
  int64_t iterationsAhead() {
    auto target = Target::parse(moduleTarget(kernel));
    const RegisterBudget budget{target->machine(),
                                static_cast<int>(moduleInt(kernel, names::numWarps, 4))};
    const int64_t needed =
        2 * registersOf(product.getResult()) + budget.machine.registers.overheadOfLoop;
    const int64_t most = budget.machine.registers.maxOfConsumer;
    return needed <= std::min(budget.launch(/*ctas=*/1), most)
               ? static_cast<int64_t>(
                     std::ceil(budget.machine.memory.partialLoadCycles / cyclesOfIteration()))
               : 0;
  }

  Value countTrips(Numbers &n) {
    IRMapping outside;
    for (Operation &op : llvm::make_early_inc_range(*programs.getBody()))
      if (bounds.contains(&op))
        b.clone(op, outside);
    auto bound = [&](Value value) { return outside.lookupOrDefault(value); };
    Value begin = bound(loop.getLowerBound()), end = bound(loop.getUpperBound());
    const auto isBefore =
        loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value any = arith::CmpIOp::create(b, programs.getLoc(), isBefore, begin, end);
    // The length is below 2^32, and more than a signed number holds where the loop begins below 0.
    Value others = n.div(n.sub(n.sub(end, begin), n.of(1)), bound(loop.getStep()));
    return n.pick(any, n.add(others, n.of(1)), n.of(0));
  }

  //===- the new loop ----------------------------------------------------------------------===//

  void split() {
    Location loc = programs.getLoc();
    auto tile = cast<RankedTensorType>(loop.getRegionIterArg(position).getType());
    bytes = 4 * int64_t(layoutOf(tile).numRegs()) * 32 * moduleInt(kernel, names::numWarps, 4);
    b.setInsertionPoint(programs);
    Numbers n(b, loc);
    const Share s = findShare(b, programs, countTrips(n), leastGain());
    firstGiver = sendHelperWarp(n, s);
    auto rounds = scf::ForOp::create(b, loc, n.of(0), s.rounds, n.of(1));
    rounds->setDiscardableAttrs(programs->getDiscardableAttrDictionary());
    b.setInsertionPointToStart(rounds.getBody());
    const Round r = findRound(n, s, rounds.getInductionVar());
    programs.getInductionVar().replaceAllUsesWith(r.program);
    Operation *end = rounds.getBody()->getTerminator();
    for (Operation &op : llvm::make_early_inc_range(programs.getBody()->without_terminator()))
      op.moveBefore(end);
    programs.erase();
    finish(s, r, end, iterate(s, r));
  }

  /// What this block gives and gets, once; returns the first block that it gets a part from, itself
  /// if there is none.
  Value sendHelperWarp(Numbers &n, const Share &s) {
    Location loc = programs.getLoc();
    const Round last = findRound(n, s, n.sub(s.parts, n.of(1)));
    Value shares = n.less(n.of(0), s.parts);
    Value gives = n.less(s.end, n.mul(n.add(s.last, n.of(1)), s.trips));
    Value gets = n.both(shares, n.equal(last.last, s.trips));
    Value first = n.pick(gets, firstBlock(n, s, last), s.block);
    auto courier =
        nv::HelperWarpOp::create(b, loc, n.both(shares, gives), first, s.block, s.cycles);
    courier->setAttr(names::producerOnly, b.getUnitAttr());
    return first;
  }

  /// The sum of a round's iterations, and the first block whose part it lacks.
  struct Sum {
    Value sofar, giver;
  };

  /// Lets the loop run over a round. If there is room for a part beside the sum, a second loop does
  /// the last iterations while the first part is on its way.
  Sum iterate(const Share &s, const Round &r) {
    const int64_t ahead = iterationsAhead();
    scf::ForOp tail = ahead ? loop.clone() : scf::ForOp();
    b.setInsertionPoint(loop);
    Location loc = loop.getLoc();
    Numbers n(b, loc);
    Value gets = n.both(n.less(n.of(0), r.first), n.equal(r.last, s.trips));
    Value giver = n.pick(gets, firstGiver, s.block), sum = loop.getResult(position);
    Value late = n.max(n.sub(r.last, n.of(ahead)), r.first);
    Value middle = n.max(n.pick(gets, late, r.last), n.of(0)); // as coordinates must be
    narrow(loop, r.first, tail ? middle : r.last);
    b.setInsertionPointAfter(loop);
    nv::AwaitPartialsOp::create(b, loc, gets);
    if (!tail)
      return {sum, giver};
    Value part = nv::LoadPartialOp::create(b, loc, sum.getType(), giver, gets);
    Value next = n.add(giver, s.cycles);
    b.insert(tail);
    narrow(tail, middle, r.last);
    tail.getInitArgsMutable()[position].assign(sum);
    b.setInsertionPointAfter(tail);
    return {addIf(gets, tail.getResult(position), part), next};
  }

  Value addIf(Value condition, Value sum, Value part) {
    Location loc = loop.getLoc();
    auto branch = scf::IfOp::create(b, loc, sum.getType(), condition, /*withElseRegion=*/true);
    OpBuilder then = branch.getThenBodyBuilder(), otherwise = branch.getElseBodyBuilder();
    scf::YieldOp::create(then, loc, Value(arith::AddFOp::create(then, loc, sum, part)));
    scf::YieldOp::create(otherwise, loc, sum);
    return branch.getResult(0);
  }

  /// Lets `part` of the loop run over the iterations from `first` to `last`.
  void narrow(scf::ForOp part, Value first, Value last) {
    b.setInsertionPoint(part);
    Numbers n(b, part.getLoc());
    for (unsigned i = 0; i < part.getNumRegionIterArgs(); ++i)
      if (i != position)
        part.getInitArgsMutable()[i].assign(
            advanced(part.getInitArgs()[i], advanceOf(part, i), first));
    countIterations(part);
    part.setLowerBound(first);
    part.setUpperBound(last);
    part.setStep(n.of(1));
    part.setUnsignedCmp(false);
  }

  /// The counter of `part` becomes the number of the iteration. What was promised of the counter that
  /// it had is no longer said of it.
  void countIterations(scf::ForOp part) {
    Value step = part.getStep(), number = part.getInductionVar();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(part.getBody());
    auto passed = arith::MulIOp::create(b, part.getLoc(), number, step);
    number.replaceAllUsesExcept(counterAt(part, passed), passed);
    part->removeAttr(indexDivisibility);
  }

  /// What the counter of `part` was after it had grown by `passed`. It is never below its first
  /// value: said by a maximum, it stays a coordinate of its own, as an argument that it begins at
  /// would become part of a tensor map's base.
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
    Value sum = arith::MulIOp::create(b, loc, step, times);
    if (wide.isInteger(64) && isa<PtrType>(elementTypeOf(value.getType())))
      return AddPtrOp::create(b, loc, value.getType(), value, sum);
    return arith::AddIOp::create(b, loc, value, sum);
  }

  /// Behind the loop: its sum goes to the program's last block, and there the rest of the program
  /// finds the whole sum.
  void finish(const Share &s, const Round &r, Operation *end, const Sum &found) {
    Location loc = loop.getLoc();
    SmallVector<Operation *> rest;
    for (Operation *op = &*b.getInsertionPoint(); op != end; op = op->getNextNode())
      rest.push_back(op);
    Numbers n(b, loc);
    auto branch = scf::IfOp::create(b, loc, n.equal(r.last, s.trips), /*withElseRegion=*/true);
    b.setInsertionPoint(branch.elseYield());
    nv::StorePartialOp::create(b, loc, found.sofar);
    Operation *whole = branch.thenYield();
    b.setInsertionPoint(whole);
    auto adds = scf::ForOp::create(
        b, loc, found.giver, s.block, s.cycles, found.sofar,
        [](OpBuilder &inner, Location at, Value other, ValueRange sums) {
          Value part = nv::LoadPartialOp::create(inner, at, sums[0].getType(), other, Value());
          scf::YieldOp::create(inner, at, Value(arith::AddFOp::create(inner, at, sums[0], part)));
        });
    for (Operation *op : rest)
      op->moveBefore(whole);
    loop.getResult(position).replaceUsesWithIf(adds.getResult(0), [&](OpOperand &use) {
      return branch.getThenRegion().isAncestor(use.getOwner()->getParentRegion()) &&
             use.getOwner() != adds;
    });
  }

  func::FuncOp kernel;
  OpBuilder b;
  scf::ForOp programs, loop;
  nv::AsyncMmaOpInterface product;
  const unsigned position;
  const llvm::SetVector<Operation *> bounds;
  Value firstGiver;
  int64_t bytes = 0;
};

scf::ForOp programsOf(func::FuncOp kernel) {
  return dyn_cast<scf::ForOp>(programBody(kernel).getParentOp());
}

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
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    if (kernels.size() != 1 || !programsOf(kernels[0]) || !isChosen(kernels[0]))
      return;
    func::FuncOp kernel = kernels[0];
    Refusal refusal;
    const std::optional<StreamKLoop> found = findStreamKLoop(kernel, refusal);
    if (!found) {
      kernel.emitError("the loop that stream-K was chosen for is gone: ") << refusal.reason;
      return signalPassFailure();
    }
    Launch launch = Launch::of(module);
    launch.partialBytes = Splitter(kernel, programsOf(kernel), *found).run();
    launch.storeOn(module);
    remarkApplied(kernel.getLoc(), Technique::Persistence)
        << "programs of the last waves may be split over CTAs, which add up parts of a sum";
  }
};
} // namespace
} // namespace pantile
