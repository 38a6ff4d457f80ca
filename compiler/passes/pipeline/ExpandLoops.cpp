//===- ExpandLoops.cpp - expand loops whose operations have stages ------------------------===//
// Needs: `nv.stage` and `nv.cluster` on the operations of loops with `nv.expand` (LoopSchedule.h).
// Gives: loops in which stage 1 of an iteration runs together with stage 0 of the next one.
// How:   1. Stage 0 of the first iteration is peeled (prologue), and stage 1 of the last iteration
//           follows the loop (epilogue). Both are under the condition that the loop has an
//           iteration, so neither needs a predicate, whatever its operations are.
//        2. The loop between runs stage 0 of all iterations but the first, and carries each value
//           that a later iteration of it reads.
//        3. With two copies of the body that loop runs pairs of iterations; a branch runs the
//           iteration that may remain. A value that is read one iteration later is carried by every
//           second iteration only, in which its registers are computed again: no copy is needed.
//        4. Pairs are counted, and the induction variable is carried: near the largest integer the
//           bounds would overflow.
//===------------------------------------------------------------------------------------===//
#include "ir/LoopSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_EXPANDLOOPS
#include "passes/Passes.h.inc"
namespace {

/// The values of a scheduled loop at one point of the expanded loop, by age.
class Ages {
public:
  using Key = LoopSchedule::Key;

  Value &at(Key key, int age) {
    auto &values = all[key];
    if (static_cast<int>(values.size()) <= age)
      values.resize(age + 1);
    return values[age];
  }

  /// Makes all values older by one iteration.
  void grow() {
    for (auto &[key, values] : all)
      values.insert(values.begin(), Value());
  }

private:
  llvm::MapVector<Key, SmallVector<Value, 3>> all;
};

class LoopExpander {
public:
  explicit LoopExpander(scf::ForOp loop)
      : loop(loop), schedule(loop), b(loop), loc(loop.getLoc()),
        copies(loop->getAttrOfType<IntegerAttr>(names::expand).getInt()) {
    findCarried();
  }

  void run() {
    scf::IfOp branch = branchOfIterations();
    for (BlockArgument argument : loop.getRegionIterArgs()) {
      const Key key = keyOf(argument);
      ages.at(key, -key.second) = loop.getInitArgs()[argument.getArgNumber() - 1];
    }
    runIteration(loop.getLowerBound(), {true, false});
    scf::YieldOp::create(b, loc, copies == 1 ? loopOverRest() : loopOverPairs());
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  using Key = LoopSchedule::Key;
  struct Active {
    bool first, second; ///< stages
  };

  Key keyOf(BlockArgument carried) { return *schedule.keyFor(carried, LoopSchedule::stages); }

  //===- what the loop carries -------------------------------------------------------------===//

  /// Finds what is carried: carried values of the loop first, then other values, tiles before
  /// integers.
  void findCarried() {
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (keyOf(argument).second < 0)
        carry(keyOf(argument), 1);
    for (const LoopSchedule::Instance &instance : schedule.order())
      for (Value operand : schedule.operandsOf(instance)) {
        const Key key = *schedule.keyFor(operand, instance.stage);
        for (int age = 1; age <= instance.stage - key.second; ++age)
          carry(key, age);
      }
    llvm::stable_sort(carried, [&](const auto &x, const auto &y) { return rank(x) < rank(y); });
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
    if (argument && argument != loop.getInductionVar() && each.second == 1)
      return argument.getArgNumber();
    if (Operation *op = value.getDefiningOp())
      for (BlockArgument source : loop.getRegionIterArgs())
        if (keyOf(source).second == 0 && llvm::is_contained(op->getOperands(), source))
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

  Value valueFor(Value value, int reader) {
    if (value.getParentBlock() != loop.getBody())
      return value;
    const Key key = *schedule.keyFor(value, reader);
    return ages.at(key, reader - key.second);
  }

  /// Creates the `active` stages of an iteration of the expanded loop, whose stage 0 is that of the
  /// iteration at `counter`. Makes all values older by one afterwards.
  void runIteration(Value counter, Active active) {
    ages.at({loop.getInductionVar(), 0}, 0) = counter;
    for (const LoopSchedule::Instance &instance : schedule.order())
      if (instance.stage == 0 ? active.first : active.second)
        if (active.second || !isa<nv::SettleOp>(instance.op)) // which orders stage 1
          create(instance);
    for (auto [argument, stage] : schedule.passedOnUnchanged())
      if (stage == 0 ? active.first : active.second) {
        Value next = loop.getTiedLoopYieldedValue(argument)->get();
        ages.at(keyOf(argument), 0) = valueFor(next, stage);
      }
    ages.grow();
  }

  void create(const LoopSchedule::Instance &instance) {
    IRMapping mapping;
    for (Value operand : schedule.operandsOf(instance))
      mapping.map(operand, valueFor(operand, instance.stage));
    Operation *made = b.clone(*instance.op, mapping);
    made->removeAttr(names::stage);
    made->removeAttr(names::cluster);
    if (!isFirstCopy && isa<nv::AsyncMmaOpInterface>(made))
      made->setAttr(names::copy, b.getUnitAttr());
    for (auto [from, to] : llvm::zip(instance.op->getResults(), made->getResults())) {
      ages.at({from, instance.stage}, 0) = to;
      for (BlockArgument next : schedule.passedOnAs(from, instance.stage))
        ages.at(keyOf(next), 0) = to;
    }
  }

  /// Creates stage 1 of the last iteration; gives the results of the loop.
  SmallVector<Value> finish() {
    runIteration(Value(), {false, true});
    SmallVector<Value> results;
    for (BlockArgument argument : loop.getRegionIterArgs())
      results.push_back(ages.at(keyOf(argument), 1 - keyOf(argument).second));
    return results;
  }

  //===- control flow ----------------------------------------------------------------------===//

  /// Creates a branch that is taken where the loop has an iteration, and goes there.
  scf::IfOp branchOfIterations() {
    const auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    Value any = arith::CmpIOp::create(b, loc, less, loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, loop.getResultTypes(), any, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, loop.getInitArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    return branch;
  }

  /// Gives `made` the attributes of the loop, and goes into its body.
  void enter(scf::ForOp made) {
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    made->removeAttr(names::expand);
    if (!made.getBody()->empty())
      made.getBody()->getTerminator()->erase();
    b.setInsertionPointToStart(made.getBody());
  }

  Value restOfBounds() {
    return arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  }

  SmallVector<Value> loopOverRest() {
    Value step = arith::MinUIOp::create(b, loc, restOfBounds(), loop.getStep());
    Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), step);
    auto rest = scf::ForOp::create(b, loc, second, loop.getUpperBound(), loop.getStep(),
                                   carriedValues(), nullptr, loop.getUnsignedCmp());
    {
      OpBuilder::InsertionGuard guard(b);
      enter(rest);
      setCarried(rest.getRegionIterArgs());
      isFirstCopy = true;
      runIteration(rest.getInductionVar(), {true, true});
      isFirstCopy = false;
      scf::YieldOp::create(b, loc, carriedValues());
    }
    setCarried(rest.getResults());
    return finish();
  }

  Value number(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(loop.getStep().getType(), value));
  }

  /// Iterations without the first one. The difference of the bounds is exact as an unsigned number.
  Value countRest() {
    Value last = arith::SubIOp::create(b, loc, restOfBounds(), number(1));
    return arith::DivUIOp::create(b, loc, last, loop.getStep());
  }

  SmallVector<Value> loopOverPairs() {
    Value count = countRest();
    Value pairs = arith::ShRUIOp::create(b, loc, count, number(1));
    Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getStep());
    SmallVector<Value> inits = carriedValues();
    inits.push_back(second);
    auto rest = scf::ForOp::create(b, loc, number(0), pairs, number(1), inits);
    {
      OpBuilder::InsertionGuard guard(b);
      enter(rest);
      rest->setAttr(names::unrolled, b.getI32IntegerAttr(2));
      setCarried(rest.getRegionIterArgs().drop_back());
      Value counter = rest.getRegionIterArgs().back();
      for (int copy = 0; copy < 2; ++copy) {
        isFirstCopy = copy == 0;
        runIteration(counter, {true, true});
        counter = arith::AddIOp::create(b, loc, counter, loop.getStep());
      }
      SmallVector<Value> next = carriedValues();
      next.push_back(counter);
      scf::YieldOp::create(b, loc, next);
    }
    setCarried(rest.getResults().drop_back());
    return finishOdd(count, rest.getResults().back());
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
    runIteration(counter, {true, true});
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
  Ages ages;
  bool isFirstCopy = false; ///< what is created is the body of the loop, its first copy
  SmallVector<std::pair<Key, int>> carried; ///< values, with their age
};

struct ExpandLoopsPass : impl::ExpandLoopsBase<ExpandLoopsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(names::expand))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      LoopExpander(loop).run();
  }
};
} // namespace
} // namespace pantile
