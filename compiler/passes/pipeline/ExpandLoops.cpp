//===- ExpandLoops.cpp - expand loops whose operations have stages ------------------------===//
// Needs: `nv.stage` and `nv.cluster` on the operations of loops with `nv.expand` (LoopSchedule.h).
// Gives: loops in which stages of an iteration run together with earlier stages of later ones.
// How:   1. Stage 0 of the first iteration is peeled (prologue), and stage 1 of the last iteration
//           follows the loop (epilogue). Both are under the condition that the loop has an
//           iteration, so neither needs a predicate, whatever its operations are.
//        2. The loop between runs stage 0 of all iterations but the first, and carries each value
//           that a later iteration of it reads.
//        3. With two copies of the body that loop runs pairs of iterations; a branch runs the
//           iteration that may remain. A value that is read one iteration later is carried by every
//           second iteration only, in which its registers are computed again: no copy is needed.
//        4. A loop with `nv.predicated` is not peeled. It runs the last stage of all iterations, and
//           earlier stages for later iterations, where these exist. Before it, these stages run for
//           the first iterations: one stage after another, so loads that copies wait for are issued
//           together. Each stage that computes a carried value carries one of its own.
//        5. Pairs are counted, and the induction variable is carried: near the largest integer the
//           bounds would overflow.
//===------------------------------------------------------------------------------------===//
#include "ir/CopyFill.h"
#include "ir/LoopSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/pipeline/LaterIterations.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_EXPANDLOOPS
#include "passes/Passes.h.inc"
namespace {

/// The values of a scheduled loop at one iteration of the expanded loop, by age.
class Ages {
public:
  using Key = LoopSchedule::Key;

  Value &at(Key key, int age) { return all[key][now - age]; }

  /// Makes all values older by one iteration.
  void grow() { ++now; }

  /// Goes to an iteration, counted from the first one.
  void goTo(int iteration) { now = iteration; }

private:
  llvm::MapVector<Key, std::map<int, Value>> all; ///< by iteration
  int now = 0;
};

class LoopExpander {
public:
  explicit LoopExpander(scf::ForOp loop)
      : loop(loop), schedule(loop), b(loop), loc(loop.getLoc()),
        copies(loop->getAttrOfType<IntegerAttr>(names::expand).getInt()),
        isPredicated(loop->hasAttr(names::predicated)), last(isPredicated ? schedule.last() : 1),
        isFirstCopy(isPredicated) {
    findCarried();
  }

  void run() {
    setInits();
    if (isPredicated) {
      loop.replaceAllUsesWith(loopOverAll());
    } else {
      scf::IfOp branch = branchOfIterations();
      runIteration(loop.getLowerBound(), [](int stage) { return stage == 0; });
      scf::YieldOp::create(b, loc, loopOverRest());
      loop.replaceAllUsesWith(branch.getResults());
    }
    loop.erase();
  }

private:
  using Key = LoopSchedule::Key;
  using Stages = llvm::function_ref<bool(int)>;

  static bool isAny(int /*stage*/) { return true; }

  /// The carried value as the last stage reads it.
  Key keyOf(BlockArgument carried) { return *schedule.keyFor(carried, last); }

  //===- what the loop carries -------------------------------------------------------------===//

  /// Finds what is carried: carried values of the loop first, then other values, tiles before
  /// integers.
  void findCarried() {
    for (BlockArgument argument : loop.getRegionIterArgs())
      read(argument, last, /*most=*/last - keyOf(argument).second - (isPredicated ? 0 : 1));
    for (const LoopSchedule::Instance &instance : schedule.order())
      for (Value operand : schedule.operandsOf(instance))
        read(operand, instance.stage,
             instance.stage - schedule.keyFor(operand, instance.stage)->second);
    llvm::stable_sort(carried, [&](const auto &x, const auto &y) { return rank(x) < rank(y); });
  }

  /// Carries what stage `reader` reads as `value`, up to age `most`, and what that is passed on
  /// from.
  void read(Value value, int reader, int most) {
    auto argument = dyn_cast<BlockArgument>(value);
    const bool isCounter = argument == loop.getInductionVar();
    if (isCounter && isPredicated)
      return;
    const Key key = *schedule.keyFor(value, reader);
    for (int age = most; age >= 1; --age) // the oldest first
      carry(key, age);
    if (!argument || isCounter || !carriedKeys.insert(key))
      return;
    Value next = schedule.passedOn(argument);
    if (next && next.getParentBlock() == loop.getBody())
      read(next, reader, reader - schedule.keyFor(next, reader)->second);
  }

  void carry(Key key, int age) {
    if (!llvm::is_contained(carried, std::pair(key, age)))
      carried.push_back({key, age});
  }

  /// The place of a value among those carried. One that is computed from a carried value which is
  /// not carried itself, such as a rescaled accumulator, takes the place of that.
  unsigned rank(const std::pair<Key, int> &each) {
    auto [value, stage] = each.first;
    const unsigned count = loop.getNumRegionIterArgs();
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && isPredicated)
      return stage == last - 1 ? argument.getArgNumber() : count;
    if (argument && argument != loop.getInductionVar() && each.second == 1)
      return argument.getArgNumber();
    if (Operation *op = value.getDefiningOp())
      for (BlockArgument source : loop.getRegionIterArgs())
        if (!isPredicated && keyOf(source).second == 0 &&
            llvm::is_contained(op->getOperands(), source))
          return source.getArgNumber();
    return isa<RankedTensorType>(value.getType()) ? count + 1 : count + 2;
  }

  /// The carried values as the next iteration of the expanded loop has them.
  SmallVector<Value> carriedValues() {
    SmallVector<Value> values;
    for (auto [key, age] : carried)
      values.push_back(ages.at(key, age));
    return values;
  }

  void setCarried(ValueRange values) {
    for (auto [each, value] : llvm::zip_equal(carried, values))
      ages.at(each.first, each.second) = value;
  }

  //===- an iteration ----------------------------------------------------------------------===//

  /// Gives each carried value its initial value, in all stages that have one of their own.
  void setInits() {
    for (Key key : carriedKeys) {
      Value init = loop.getTiedLoopInit(cast<BlockArgument>(key.first))->get();
      ages.at(key, -key.second) = init;
    }
  }

  Value valueFor(Value value, int reader) {
    if (value.getParentBlock() != loop.getBody())
      return value;
    if (isPredicated && value == loop.getInductionVar())
      return counters[reader];
    const Key key = *schedule.keyFor(value, reader);
    Value now = ages.at(key, reader - key.second);
    const bool isLeaf = isa<BlockArgument>(value) && repeats(reader) && isInLoop;
    return isLeaf ? orAgain(reader, now, valueFor(value, last)) : now;
  }

  /// Creates the `active` stages of an iteration of the expanded loop, whose stage 0 is that of the
  /// iteration at `counter`. Makes all values older by one afterwards.
  void runIteration(Value counter, Stages active) {
    ages.at({loop.getInductionVar(), 0}, 0) = counter;
    runStages(active);
    ages.grow();
  }

  void runStages(Stages active) {
    for (const LoopSchedule::Instance &instance : schedule.order())
      if (active(instance.stage))
        if (active(last) || !isa<nv::SettleOp>(instance.op)) // which orders the last stage
          create(instance);
    for (Key key : carriedKeys) {
      Value next = schedule.passedOn(cast<BlockArgument>(key.first));
      if (next && active(key.second + 1))
        ages.at(key, 0) = valueFor(next, key.second + 1);
    }
  }

  void create(const LoopSchedule::Instance &instance) {
    if (isPredicated && !counters[instance.stage])
      setCounter(instance.stage);
    IRMapping mapping;
    for (Value operand : schedule.operandsOf(instance))
      mapping.map(operand, valueFor(operand, instance.stage));
    Operation *made = b.clone(*instance.op, mapping);
    made->removeAttr(names::stage);
    made->removeAttr(names::cluster);
    if (isPredicated)
      predicate(made, instance.stage);
    if (!isFirstCopy && isa<nv::AsyncMmaOpInterface>(made))
      made->setAttr(names::copy, b.getUnitAttr());
    for (auto [from, to] : llvm::zip(instance.op->getResults(), made->getResults())) {
      ages.at({from, instance.stage}, 0) = to;
      for (BlockArgument argument : loop.getRegionIterArgs())
        if (loop.getTiedLoopYieldedValue(argument)->get() == from)
          ages.at({argument, instance.stage - 1}, 0) = to;
    }
  }

  /// Creates stage 1 of the last iteration; gives the results of the loop.
  SmallVector<Value> finish() {
    runIteration(Value(), [](int stage) { return stage == 1; });
    return results();
  }

  SmallVector<Value> results() {
    SmallVector<Value> results;
    for (BlockArgument argument : loop.getRegionIterArgs())
      results.push_back(ages.at(keyOf(argument), last - keyOf(argument).second));
    return results;
  }

  //===- iterations that may not exist -----------------------------------------------------===//

  /// Whether a load of `stage` repeats in the last iteration.
  bool repeats(int stage) {
    return stage < last && llvm::any_of(
                               schedule.order(),
                               [&](const auto &each) {
                                 return each.stage == stage && each.op->hasAttr(names::repeats);
                               });
  }

  /// `next`, or `now` where the iteration of `stage` does not exist. Tiles are not read then.
  Value orAgain(int stage, Value next, Value now) {
    if (isa<RankedTensorType>(next.getType()))
      return next;
    return arith::SelectOp::create(b, loc, exists[stage], next, now);
  }

  /// Computes the induction variable of `stage` in the loop, and whether its iteration exists.
  void setCounter(int stage) {
    Value now = counters[last];
    exists[stage] = existsAfter(b, loop, now, distances[stage]);
    Value next = arith::AddIOp::create(b, loc, now, distances[stage]);
    counters[stage] = repeats(stage) ? orAgain(stage, next, now) : next;
  }

  /// Lets `made` do nothing where the iteration of `stage` does not exist. A wait lets the groups be
  /// in flight that are committed for later iterations before it.
  void predicate(Operation *made, int stage) {
    const bool isRepeated = made->removeAttr(names::repeats) != nullptr;
    if (auto wait = dyn_cast<nv::WaitOp>(made))
      wait.setPending(wait.getPending() + groupsBefore(stage));
    if (stage == last)
      return;
    if (!isInLoop)
      made->removeAttr(names::keepsZeros); // the stage has none yet
    if (auto copy = dyn_cast<nv::CopyAsyncOp>(made); copy && !copy.getEnable())
      copy.getEnableMutable().assign(exists[stage]);
    else if (auto load = dyn_cast<LoadOp>(made); load && !(isRepeated && isInLoop))
      mask(load, exists[stage]);
  }

  void mask(LoadOp load, Value exists) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(load);
    Value mask = exists;
    if (auto tile = dyn_cast<RankedTensorType>(load.getType())) {
      auto flags = RankedTensorType::get(tile.getShape(), b.getI1Type(), tile.getEncoding());
      mask = SplatOp::create(b, load.getLoc(), flags, exists);
    }
    if (load.getMask())
      mask = arith::AndIOp::create(b, load.getLoc(), load.getMask(), mask);
    load.getMaskMutable().assign(mask);
  }

  /// Groups of copies that are committed before a wait of the last stage, and after the one of its
  /// iteration.
  int groupsBefore(int stage) {
    int groups = 0;
    bool isBefore = true;
    for (const LoopSchedule::Instance &instance : schedule.order()) {
      isBefore &= !isa<nv::WaitOp>(instance.op);
      if (isa<nv::CommitOp>(instance.op) && instance.stage < stage)
        groups += stage - instance.stage - (isBefore ? 0 : 1);
    }
    return groups;
  }

  /// Runs the stages before the last for the first iterations, one stage after another.
  void runPrologue() {
    for (int stage = 0; stage < last; ++stage)
      for (int iteration = 0; iteration < last - stage; ++iteration) {
        ages.goTo(iteration + stage);
        Value offset = distanceOf(b, loop, iteration);
        counters[stage] = arith::AddIOp::create(b, loc, loop.getLowerBound(), offset);
        exists[stage] = existsFromStart(b, loop, offset);
        runStages([&](int each) { return each == stage; });
      }
    ages.goTo(last);
    auto before = llvm::make_range(loop->getBlock()->begin(), loop->getIterator());
    for (Operation &op : llvm::make_early_inc_range(before))
      if (op.removeAttr(names::afterPrologue))
        op.moveBefore(loop);
  }

  SmallVector<Value> loopOverAll() {
    counters.resize(last + 1);
    exists.resize(last + 1);
    runPrologue();
    for (int stage = 0; stage < last; ++stage)
      distances.push_back(distanceOf(b, loop, last - stage));
    auto all = scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(),
                                  loop.getStep(), carriedValues(), nullptr, loop.getUnsignedCmp());
    OpBuilder::InsertionGuard guard(b);
    enter(all);
    setCarried(all.getRegionIterArgs());
    isInLoop = true;
    counters.assign(last, Value());
    counters.push_back(all.getInductionVar());
    runStages(isAny);
    ages.grow();
    scf::YieldOp::create(b, loc, carriedValues());
    setCarried(all.getResults());
    return results();
  }

  //===- control flow ----------------------------------------------------------------------===//

  /// Creates a branch that is taken where the loop has an iteration, and goes there.
  scf::IfOp branchOfIterations() {
    auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), hasIterations(b, loop),
                                    /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, loop.getInitArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    return branch;
  }

  /// Gives `made` the attributes of the loop, and goes into its body.
  void enter(scf::ForOp made) {
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    made->removeAttr(names::expand);
    made->removeAttr(names::predicated);
    if (!made.getBody()->empty())
      made.getBody()->getTerminator()->erase();
    b.setInsertionPointToStart(made.getBody());
  }

  Value restOfBounds() {
    return arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  }

  Value number(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(loop.getStep().getType(), value));
  }

  /// Iterations without the first one. The difference of the bounds is exact as an unsigned number.
  Value countRest() {
    Value last = arith::SubIOp::create(b, loc, restOfBounds(), number(1));
    return arith::DivUIOp::create(b, loc, last, loop.getStep());
  }

  /// Runs stage 0 of all iterations but the first one, and stage 1 of the ones before. With two
  /// copies of the body it counts pairs of iterations, and carries their counter.
  SmallVector<Value> loopOverRest() {
    const bool inPairs = copies == 2;
    Value count = inPairs ? countRest() : Value(), step = loop.getStep();
    Value pairs = inPairs ? arith::ShRUIOp::create(b, loc, count, number(1)) : Value();
    Value most = inPairs ? step : arith::MinUIOp::create(b, loc, restOfBounds(), step);
    Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), most);
    SmallVector<Value> inits = carriedValues();
    if (inPairs)
      inits.push_back(second);
    auto rest = inPairs ? scf::ForOp::create(b, loc, number(0), pairs, number(1), inits)
                        : scf::ForOp::create(b, loc, second, loop.getUpperBound(), step, inits,
                                             nullptr, loop.getUnsignedCmp());
    {
      OpBuilder::InsertionGuard guard(b);
      enter(rest);
      if (inPairs)
        rest->setAttr(names::unrolled, b.getI32IntegerAttr(2));
      setCarried(rest.getRegionIterArgs().take_front(carried.size()));
      Value counter = inPairs ? rest.getRegionIterArgs().back() : rest.getInductionVar();
      for (int copy = 0; copy < copies; ++copy) {
        isFirstCopy = copy == 0;
        runIteration(counter, isAny);
        if (inPairs)
          counter = arith::AddIOp::create(b, loc, counter, step);
      }
      isFirstCopy = false;
      SmallVector<Value> next = carriedValues();
      if (inPairs)
        next.push_back(counter);
      scf::YieldOp::create(b, loc, next);
    }
    setCarried(rest.getResults().take_front(carried.size()));
    return inPairs ? finishOdd(count, rest.getResults().back()) : finish();
  }

  /// Creates the epilogue, twice: in one branch after the iteration at `counter`, which remains if
  /// `count` is odd.
  SmallVector<Value> finishOdd(Value count, Value counter) {
    Value isOdd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                        arith::AndIOp::create(b, loc, count, number(1)), number(0));
    auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), isOdd, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    const Ages before = ages;
    b.setInsertionPointToStart(branch.thenBlock());
    runIteration(counter, isAny);
    scf::YieldOp::create(b, loc, finish());
    ages = before;
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, finish());
    return branch.getResults();
  }

  scf::ForOp loop;
  LoopSchedule schedule;
  OpBuilder b;
  Location loc;
  int64_t copies;
  const bool isPredicated;
  const int last; ///< stage
  Ages ages;
  bool isFirstCopy; ///< what is created is the body of the loop, its first copy
  SmallVector<std::pair<Key, int>> carried; ///< values, with their age
  llvm::SmallSetVector<Key, 8> carriedKeys; ///< of carried values, as stages read them

  bool isInLoop = false;               ///< what is created is in a loop that is not peeled
  SmallVector<Value> counters, exists; ///< of each stage: its induction variable; whether its
                                       ///< iteration exists
  SmallVector<Value> distances;        ///< of each stage before the last, to the last
};

struct ExpandLoopsPass : impl::ExpandLoopsBase<ExpandLoopsPass> {
  void runOnOperation() override {
    scf::ForOp loop = nextLoop();
    if (!loop)
      return markAllAnalysesPreserved(); // and nothing has to be verified again
    for (; loop; loop = nextLoop())
      LoopExpander(loop).run();
  }

private:
  /// An outer loop comes before those in it: what their expansion adds has no stage.
  scf::ForOp nextLoop() {
    scf::ForOp next;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      next = loop->hasAttr(names::expand) ? loop : scf::ForOp();
      return next ? WalkResult::interrupt() : WalkResult::advance();
    });
    return next;
  }
};
} // namespace
} // namespace pantile
