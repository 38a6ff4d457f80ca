//===- CountIterations.cpp - count the iterations of a loop with exits before it runs -------===//
// Needs: CountLoops ran; loop-invariant operations are before the loop.
// Gives: scf.for for an scf.while with dots or `num_stages` whose exits depend on scalars alone.
//        Before it, a loop of these scalars alone counts its iterations.
// How:   legal where the condition, and all values of earlier iterations that it depends on, are
//        scalars that are computed without regions and without memory. Then they are the same
//        before the loop as in it, so the trip count and the values of the body do not change. If a
//        flag ends the loop, and the body has only pure operations outside of the branches on that
//        flag, the iteration that sets the flag is peeled to after the loop: nothing in the loop
//        remains under a condition.
//===----------------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COUNTITERATIONS
#include "passes/Passes.h.inc"
namespace {

bool isScalarArithmetic(Operation *op) {
  auto isTile = [](Type type) { return isa<ShapedType>(type); };
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::none_of(op->getOperandTypes(), isTile) &&
         llvm::none_of(op->getResultTypes(), isTile);
}

/// The computation that decides the trip count of a loop.
class Control {
public:
  explicit Control(scf::WhileOp loop) : loop(loop) {}

  /// Finds it; false if it is more than scalar arithmetic.
  bool find() {
    Block &before = *loop.getBeforeBody();
    for (Value passed : loop.getConditionOp().getArgs()) {
      auto argument = dyn_cast<BlockArgument>(passed);
      if (!argument || argument.getOwner() != &before)
        return false;
      positions.push_back(argument.getArgNumber());
    }
    if (!llvm::all_of(before.without_terminator(),
                      [](Operation &op) { return isScalarArithmetic(&op); }) ||
        !add(loop.getConditionOp().getCondition()))
      return false;
    for (unsigned i = 0; i < carried.size(); ++i) // grows
      if (!add(loop.getYieldOp().getOperand(carried[i])))
        return false;
    return true;
  }

  scf::WhileOp loop;
  llvm::SetVector<unsigned> carried; ///< values that the loop carries and the condition depends on
  llvm::SetVector<Operation *> ops;
  SmallVector<unsigned> positions; ///< of each argument of the body, among the carried values

private:
  bool add(Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != loop.getBeforeBody() && argument.getOwner() != loop.getAfterBody())
        return false;
      const bool isBefore = argument.getOwner() == loop.getBeforeBody();
      carried.insert(isBefore ? argument.getArgNumber() : positions[argument.getArgNumber()]);
      return !isa<ShapedType>(argument.getType());
    }
    Operation *op = value.getDefiningOp();
    if (ops.contains(op))
      return true;
    ops.insert(op);
    return op->getParentOp() == loop && isScalarArithmetic(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand); });
  }
};

/// A carried flag that ends the loop, where the iteration that sets it only runs pure operations,
/// and no dots.
struct Flag {
  unsigned position;
  Value set; ///< what the body yields for it
};

/// Whether `condition` is false where `flag` is set: it is a conjunction that has `not flag`.
bool endsWith(Value condition, Value flag) {
  return llvm::any_of(conjuncts(condition), [&](Value part) {
    auto opposite = part.getDefiningOp<arith::XOrIOp>();
    return opposite && opposite.getLhs() == flag && matchPattern(opposite.getRhs(), m_One());
  });
}

bool dependsOn(scf::IfOp branch, Value flag) { return branch.getCondition() == flag; }

std::optional<Flag> flagOf(Control &control) {
  scf::WhileOp loop = control.loop;
  for (unsigned position : control.carried) {
    Value set = loop.getYieldOp().getOperand(position);
    const bool endsLoop =
        set.getType().isInteger(1) && matchPattern(loop.getInits()[position], m_Zero()) &&
        control.ops.contains(set.getDefiningOp()) &&
        endsWith(loop.getConditionOp().getCondition(), loop.getBeforeArguments()[position]);
    if (!endsLoop)
      continue;
    bool guards = false;
    const bool isLight =
        llvm::all_of(loop.getAfterBody()->without_terminator(), [&](Operation &op) {
          auto branch = dyn_cast<scf::IfOp>(&op);
          if (!branch || !dependsOn(branch, set))
            return isMemoryEffectFree(&op) && op.getNumRegions() == 0 && !isa<DotOp>(op);
          guards = true;
          return llvm::all_of(branch.thenBlock()->without_terminator(), [](Operation &inner) {
            return isMemoryEffectFree(&inner) && inner.getNumRegions() == 0 && !isa<DotOp>(inner);
          });
        });
    if (guards && isLight)
      return Flag{position, set};
  }
  return std::nullopt;
}

class Rewriter {
public:
  explicit Rewriter(Control &control)
      : control(control), loop(control.loop), b(control.loop), at(control.loop.getLoc()) {}

  void run() {
    std::optional<Flag> flag = flagOf(control);
    scf::WhileOp counting = countFirst();
    Value count = counting.getResults().back();
    Value isSet;
    if (flag) {
      isSet = counting.getResult(positionInCount(flag->position));
      Value fewer = arith::SubIOp::create(b, at, count, constant(1));
      count = arith::SelectOp::create(b, at, isSet, fewer, count);
    }
    scf::ForOp made = iterate(count, flag);
    SmallVector<Value> results(made.getResults());
    if (flag)
      results = lastIteration(made, *flag, isSet);
    for (auto [result, position] : llvm::zip_equal(loop.getResults(), control.positions))
      result.replaceAllUsesWith(results[position]);
    loop.erase();
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, at, b.getI64IntegerAttr(value));
  }

  unsigned positionInCount(unsigned position) {
    return static_cast<unsigned>(llvm::find(control.carried, position) - control.carried.begin());
  }

  void cloneInto(Block *block, Block &from, IRMapping &mapping) {
    b.setInsertionPointToEnd(block);
    for (Operation &op : from.without_terminator())
      if (control.ops.contains(&op))
        b.clone(op, mapping);
  }

  /// Creates the counting loop: it carries the control values and, last, the number of iterations.
  scf::WhileOp countFirst() {
    SmallVector<Value> inits;
    for (unsigned position : control.carried)
      inits.push_back(loop.getInits()[position]);
    inits.push_back(constant(0));
    const SmallVector<Type> types(ValueRange(inits).getTypes());
    const SmallVector<Location> locations(types.size(), at);
    auto counting = scf::WhileOp::create(b, at, types, inits);
    Block *before = b.createBlock(&counting.getBefore(), {}, types, locations);
    IRMapping mapping;
    for (auto [position, argument] : llvm::zip(control.carried, before->getArguments()))
      mapping.map(loop.getBeforeArguments()[position], argument);
    cloneInto(before, *loop.getBeforeBody(), mapping);
    scf::ConditionOp::create(b, at, mapping.lookupOrDefault(loop.getConditionOp().getCondition()),
                             before->getArguments());
    Block *after = b.createBlock(&counting.getAfter(), {}, types, locations);
    for (auto [argument, position] : llvm::zip_equal(loop.getAfterArguments(), control.positions))
      if (control.carried.contains(position))
        mapping.map(argument, after->getArgument(positionInCount(position)));
    cloneInto(after, *loop.getAfterBody(), mapping);
    SmallVector<Value> next;
    for (unsigned position : control.carried) {
      Value value = loop.getYieldOp().getOperand(position);
      auto argument = dyn_cast<BlockArgument>(value);
      const bool isKept = argument && argument.getOwner() == loop.getAfterBody();
      next.push_back(isKept ? mapping.lookup(value) : mapping.lookupOrDefault(value));
    }
    next.push_back(arith::AddIOp::create(b, at, after->getArguments().back(), constant(1)));
    scf::YieldOp::create(b, at, next);
    b.setInsertionPoint(loop);
    return counting;
  }

  void cloneBody(ValueRange carried, IRMapping &mapping) {
    for (auto [argument, position] : llvm::zip_equal(loop.getAfterArguments(), control.positions))
      mapping.map(argument, carried[position]);
    for (Operation &op : loop.getAfterBody()->without_terminator())
      b.clone(op, mapping);
  }

  SmallVector<Value> yielded(const IRMapping &mapping) {
    return llvm::map_to_vector(loop.getYieldOp().getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  scf::ForOp iterate(Value count, const std::optional<Flag> &flag) {
    auto made = scf::ForOp::create(b, at, constant(0), count, constant(1), loop.getInits());
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Block *body = made.getBody();
    if (!body->empty())
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    IRMapping mapping;
    cloneBody(made.getRegionIterArgs(), mapping);
    scf::YieldOp::create(b, at, yielded(mapping));
    if (flag)
      decide(body, mapping.lookupOrDefault(flag->set), false);
    b.setInsertionPoint(loop);
    return made;
  }

  /// Clones the iteration that sets the flag, after the loop.
  SmallVector<Value> lastIteration(scf::ForOp made, const Flag &flag, Value isSet) {
    auto branch = scf::IfOp::create(b, at, made.getResultTypes(), isSet, /*withElseRegion=*/true);
    b.setInsertionPointToEnd(branch.thenBlock());
    IRMapping mapping;
    cloneBody(made.getResults(), mapping);
    scf::YieldOp::create(b, at, yielded(mapping));
    decide(branch.thenBlock(), mapping.lookupOrDefault(flag.set), true);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, at, made.getResults());
    b.setInsertionPoint(loop);
    return SmallVector<Value>(branch.getResults());
  }

  /// Replaces each `if flag` by the branch that is taken, where the flag is constant.
  void decide(Block *block, Value flag, bool isTaken) {
    for (auto branch : llvm::make_early_inc_range(block->getOps<scf::IfOp>())) {
      if (!dependsOn(branch, flag))
        continue;
      Block *chosen = isTaken ? branch.thenBlock() : branch.elseBlock();
      if (chosen) {
        Operation *yield = chosen->getTerminator();
        branch.replaceAllUsesWith(yield->getOperands());
        block->getOperations().splice(branch->getIterator(), chosen->getOperations(),
                                      chosen->begin(), yield->getIterator());
      }
      branch.erase();
    }
    OpBuilder front(block, block->begin());
    Value known = arith::ConstantOp::create(front, at, front.getBoolAttr(isTaken));
    flag.replaceAllUsesWith(known);
  }

  Control &control;
  scf::WhileOp loop;
  OpBuilder b;
  Location at;
};

bool isWorthCounting(scf::WhileOp loop) {
  return loop->hasAttr(names::numStages) || containsOp<DotOp>(loop);
}

struct CountIterationsPass : impl::CountIterationsBase<CountIterationsPass> {
  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](scf::WhileOp loop) {
      Control control(loop);
      if (isWorthCounting(loop) && control.find()) {
        Rewriter(control).run();
        changed = true;
      }
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
