//===- EmitLoop.cpp - `for` and `while` -------------------------------------------------===//
// Needs: the names each loop assigns (AssignedNames).
// Gives: scf.for and scf.while whose loop-carried values are the run-time parts of the variables
//        that exist before the loop and are assigned in it; unrolled static loops.
// How:   The body is emitted once, from block arguments of the initial types. A variable that has
//        another type after the body is an error. Variables that only the body defines are not live
//        after it, except targets of loops: a target that is read later is computed from the bounds
//        after the loop, or carried if the bounds do not determine it. `range` with a negative
//        constant step counts up and mirrors the index. The smallest number of a type has no
//        negative in it: a loop of that step counts unsigned from 0.
//        A loop that `break` or `return` leaves is emitted like any other; when its exits are
//        known, an scf.while takes over its body.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/RebuildLoop.h"
#include "frontend/TritonWords.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <llvm/Support/SaveAndRestore.h>

using namespace pantile;
namespace arith = mlir::arith;
namespace scf = mlir::scf;
using llvm::StringRef;

/// The variables that a loop carries, and their run-time parts.
struct Emitter::Carried {
  struct Entry {
    StringRef name;
    Variable before;
    bool isPlace = false;  ///< for the target of an inner loop, which has no value before
    bool isVacant = false; ///< a place that does not suit what the body puts there
  };
  Emitter &e;
  llvm::SmallVector<Entry> entries;
  llvm::SmallVector<mlir::Value> inits;

  /// The variables that `loop` assigns. A live target of an inner loop gets an int32 placeholder.
  void collect(const ast::Stmt &loop, SourceSpan span) {
    const AssignedNames &assigned = e.frame->function->assigned;
    for (StringRef name : assigned.of(loop)) {
      auto found = e.frame->variables.find(name);
      if (found == e.frame->variables.end() && assigned.innerTargets(loop).contains(name)) {
        Entry entry{name, {e.constant(Scalar::I32, BigInt(0)), span, e.nextVersion++}, true};
        flatten(entry.before.value, inits);
        entries.push_back(std::move(entry));
        continue;
      }
      if (found == e.frame->variables.end() || !isUsable(found->second.value))
        continue;
      Entry entry{name, found->second};
      entry.before.value = e.stored(entry.before.value, span);
      flatten(entry.before.value, inits);
      entries.push_back(std::move(entry));
    }
  }
  static bool isUsable(const Value &value) {
    return !value.failed() && !value.is<std::shared_ptr<const DefectValue>>();
  }
  static void flatten(const Value &value, llvm::SmallVectorImpl<mlir::Value> &parts) {
    if (auto *runtime = value.dynAs<Runtime>())
      parts.push_back(runtime->ir);
    else if (value.isStruct())
      for (const Value &element : value.elements())
        flatten(element, parts);
  }
  template <typename Range> static Value rebuild(const Value &value, Range &&parts, size_t &next) {
    if (auto *runtime = value.dynAs<Runtime>())
      return Runtime{parts[next++], runtime->type};
    if (!value.isStruct())
      return value;
    std::vector<Value> elements;
    for (const Value &element : value.elements())
      elements.push_back(rebuild(element, parts, next));
    return value.withElements(std::move(elements));
  }
  /// Binds the carried variables to `parts`.
  template <typename Range> void bind(Range &&parts) {
    size_t next = 0;
    for (const Entry &entry : entries) {
      Value value = rebuild(entry.before.value, parts, next);
      e.frame->variables[entry.name] = {value, entry.before.assigned, e.nextVersion++};
    }
  }
  /// Appends the parts of `after` that the next iteration takes; false if it does not match.
  bool match(const Value &before, const Value &after, llvm::SmallVectorImpl<mlir::Value> &parts) {
    if (auto *old = before.dynAs<Runtime>()) {
      if (after.isNumber() && !old->type.isTile() && old->type.element.isNumber()) {
        std::optional<Runtime> scalar = e.number(after, old->type.element, e.here());
        parts.push_back(scalar ? scalar->ir : old->ir);
        return true;
      }
      auto *runtime = after.dynAs<Runtime>();
      if (!runtime || runtime->type != old->type)
        return false;
      parts.push_back(runtime->ir);
      return true;
    }
    if (!before.isStruct())
      return constantsEqual(before, after);
    if (!sameStructure(before, after))
      return false;
    for (size_t i = 0; i < before.elements().size(); ++i)
      if (!match(before.elements()[i], after.elements()[i], parts))
        return false;
    return true;
  }
  void report(const Entry &entry, const Variable &after) {
    auto [was, is] = contrastText(entry.before.value, after.value);
    std::string name = "`" + entry.name.str() + "`";
    if (was == is && !entry.before.value.isStruct())
      e.error(after.assigned, name + " is a " + was + ", which cannot change in a loop",
              ErrorKind::Type, {{entry.before.assigned, "it is assigned before the loop here"}});
    else
      e.error(after.assigned,
              name + " is " + was + " before the loop and " + is + " after an iteration" +
                  inTriton("Please make sure that the type stays consistent."),
              ErrorKind::Type, {{entry.before.assigned, was + " is assigned here"}});
  }
  /// The values at the end of the body.
  llvm::SmallVector<mlir::Value> finals() {
    llvm::SmallVector<mlir::Value> parts;
    for (Entry &entry : entries) {
      const Variable &after = e.frame->variables[entry.name];
      size_t size = parts.size();
      if (isUsable(after.value) && match(entry.before.value, after.value, parts))
        continue;
      if (entry.isPlace)
        entry.isVacant = true;
      else if (auto *defect = after.value.dynAs<std::shared_ptr<const DefectValue>>())
        e.error(after.assigned, (*defect)->message, ErrorKind::Type, (*defect)->notes);
      else if (!after.value.failed())
        report(entry, after);
      parts.truncate(size);
      flatten(entry.before.value, parts);
    }
    return parts;
  }
  /// After the loop: carried variables have its results; those that only the body defined are
  /// marked.
  void leave(const Variables &before, mlir::ResultRange results) {
    Variables inside = std::move(e.frame->variables);
    e.frame->variables = before;
    bind(results);
    for (const Entry &entry : entries)
      if (entry.isVacant)
        e.frame->variables.erase(entry.name);
    for (auto &[name, variable] : inside) {
      if (e.frame->variables.contains(name))
        continue;
      DefectValue defect;
      defect.message = "`" + name.str() + "` is defined inside a loop only";
      defect.notes = {{variable.assigned, "it is assigned here"}};
      e.frame->variables[name] = {std::make_shared<const DefectValue>(std::move(defect)),
                                  variable.assigned, e.nextVersion++};
    }
  }
};

/// The variable of a loop over a range after it, where something reads it there: its value in the
/// last iteration; without iterations the value before the loop, or the start of the range.
struct Emitter::KeptIndex {
  Emitter &e;
  const ast::Name &target;
  Runtime low, high, step; ///< as the loop counts: up
  bool isDown;             ///< the variable counts down
  std::optional<Variable> before = std::nullopt;
  std::optional<bool> runs = std::nullopt;
  Value hasIterations = false;

  void look() {
    auto found = e.frame->variables.find(target.id);
    if (found != e.frame->variables.end() && Carried::isUsable(found->second.value))
      before = found->second;
    hasIterations = e.compare(ast::CompareOp::Lt, low, high, e.here());
    runs = e.knownTruth(hasIterations);
  }
  Value start() const { return isDown ? high : low; }
  /// How far it is from one bound to the other, without sign; 0 where the loop does not run.
  Runtime length() const {
    mlir::Value isLess =
        e.b.createOrFold<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::slt, low.ir, high.ir);
    mlir::Value length = e.b.createOrFold<arith::SubIOp>(e.loc(), high.ir, low.ir);
    const Runtime none = e.constant(low.type.element, BigInt(0));
    return {e.b.createOrFold<arith::SelectOp>(e.loc(), isLess, length, none.ir), low.type};
  }
  bool hadInteger() const {
    if (!before || before->value.is<BigInt>())
      return before.has_value();
    auto *old = before->value.dynAs<Runtime>();
    return old && !old->type.isTile() && old->type.element.isInt() && !old->type.element.isBool();
  }
  /// From the bounds: in unsigned arithmetic the distance always fits.
  Value last() const {
    const Type type = low.type;
    auto make = [&]<typename Op>(const Runtime &x, const Runtime &y, Op *) {
      return Runtime{e.b.createOrFold<Op>(e.loc(), x.ir, y.ir), type};
    };
    Runtime distance = make(high, low, (mlir::arith::SubIOp *)nullptr);
    distance = make(distance, e.constant(type.element, BigInt(1)), (mlir::arith::SubIOp *)nullptr);
    Runtime steps = make(distance, step, (mlir::arith::DivUIOp *)nullptr);
    steps = make(steps, step, (mlir::arith::MulIOp *)nullptr);
    return isDown ? make(high, steps, (mlir::arith::SubIOp *)nullptr)
                  : make(low, steps, (mlir::arith::AddIOp *)nullptr);
  }
  Variable variable(Value value) const { return {std::move(value), target.span, e.nextVersion++}; }
  Variable defect(std::string message) const {
    DefectValue defect;
    defect.message = "`" + target.id + "` " + message;
    defect.notes = {{target.span, "it is the variable of this loop"}};
    return variable(std::make_shared<const DefectValue>(std::move(defect)));
  }
  /// It is only known at run time whether `value` or the one before the loop, of another type, is
  /// valid.
  std::optional<Variable> mixed() const {
    if (runs == true || !before || hadInteger())
      return std::nullopt;
    return defect("is " + kindText(before->value) + " before the loop and " + kindText(low) +
                  " after an iteration");
  }
  Variable fromBounds() const {
    if (runs == false)
      return before ? *before : defect("has no value: the loop runs no iteration");
    if (std::optional<Variable> unlike = mixed())
      return *unlike;
    if (runs == true)
      return variable(last());
    Value none = before ? e.stored(before->value, target.span) : start();
    return variable(e.select(hasIterations, last(), none, target.span));
  }
  /// Gives the variable a value of the index's type before the loop that carries it; what it is
  /// after the loop if that value does not do.
  std::optional<Variable> carry() {
    Value init = before ? e.stored(before->value, target.span) : start();
    auto *old = init.dynAs<Runtime>();
    bool fits = old && old->type == low.type;
    e.frame->variables[target.id] = variable(fits ? init : start());
    if (fits || runs == true)
      return std::nullopt;
    if (runs == false)
      return before;
    return defect("is " + kindText(before->value) + " before the loop and " + kindText(low) +
                  " after an iteration");
  }
};

/// Emits the body of a loop once and ends `continue` there; returns how else control leaves it.
FlowState Emitter::loopBody(const ast::Block &body) {
  llvm::SaveAndRestore deeper(nesting, nesting + 1);
  LoopBody inner, *outer = frame->loop;
  frame->loop = &inner;
  frame->flow = {};
  block(body);
  FlowState flow = std::exchange(frame->flow, {});
  flow.rejoin(Exit::Continue);
  for (auto &[name, variable] : inner.defects)
    frame->variables[name] = variable;
  frame->loop = outer;
  return flow;
}

void Emitter::loopElse(const ast::Block &orelse, const Value &broke) {
  if (orelse.empty())
    return;
  auto body = [&] {
    if (!broke.isRuntime())
      return broke.as<bool>() ? void() : block(orelse);
    Value whole = unary(ast::UnaryOp::Not, broke, here());
    emitIf(whole.as<Runtime>(), [&] { block(orelse); });
  };
  if (frame->flow.flow == Flow::Falls)
    body();
  else if (frame->flow.flow == Flow::Maybe)
    guarded(body);
}

void Emitter::forStmt(const ast::For &node) {
  Value iter = expr(*node.iter);
  if (iter.failed())
    return;
  auto *range = iter.dynAs<RangeValue>();
  if (range && !range->isStatic)
    return runtimeLoop(node, *range);
  if (auto *tile = iter.dynAs<Runtime>(); tile && !tile->type.isTile()) {
    error(node.iter->span,
          "a `for` runs over `range`, `tl.range`, `tl.static_range`, a tuple or a tile, got a " +
              kindText(iter) +
              inTriton("Only `range` and `static_range` iterators are currently supported"),
          ErrorKind::Unsupported);
    return;
  }
  if (auto items = itemsOf(iter, node.iter->span, "`for`"))
    unrolled(node, *items);
}

/// After an iteration that may have left the loop, the next one is emitted under the flags that say
/// it did not.
void Emitter::unrolled(const ast::For &node, llvm::ArrayRef<Value> items) {
  LoopBody all, *outer = std::exchange(frame->loop, &all);
  auto iteration = [&](const Value &item) {
    assign(*node.target, item);
    frame->flow = loopBody(node.body);
  };
  for (const Value &item : items) {
    if (frame->flow.flow == Flow::Leaves || isTooMuch(node.iter->span))
      break;
    if (frame->flow.flow == Flow::Falls)
      iteration(item);
    else
      guarded([&] { iteration(item); });
  }
  frame->loop = outer;
  for (auto &[name, variable] : all.defects)
    frame->variables[name] = variable;
  Value broke = frame->flow.by(Exit::Break);
  frame->flow.rejoin(Exit::Break);
  loopElse(node.orelse, broke);
}

namespace {
/// The type of a known step, whatever its negative needs; with signed bounds it is signed.
DType stepType(BigInt step, DType bounds) {
  const DType type = literalType(step).value_or(Scalar::I64);
  return bounds.isSigned() && !type.isSigned() ? DType(Scalar::I64) : type;
}
} // namespace

/// Start, end and step as scalars of one integer type.
std::optional<std::array<Runtime, 3>> Emitter::loopBounds(const RangeValue &range,
                                                          SourceSpan span) {
  std::optional<BigInt> step = knownInt(*range.step);
  if (step && *step == 0) {
    error(span, "the step of a range is 0");
    return std::nullopt;
  }
  bool isDown = step && *step < 0;
  std::array<Runtime, 3> bounds;
  const Value values[3] = {isDown ? *range.stop : *range.start, isDown ? *range.start : *range.stop,
                           isDown ? Value(-*step) : *range.step};
  DType dtype = Scalar::I32;
  for (int i = 0; i < 3; ++i) {
    std::optional<Runtime> bound = runtime(values[i], span);
    if (bound && bound->type.isTile() && bound->type.count() == 1)
      bound = Runtime{UnsplatOp::create(b, loc(), irType(bound->type.element), bound->ir),
                      {bound->type.element, {}}};
    if (!bound)
      return std::nullopt;
    if (bound->type.isTile() || !bound->type.element.isInt()) {
      error(span, "a range takes integers, got " + kindText(values[i]));
      return std::nullopt;
    }
    bounds[i] = *bound;
    DType type = i == 2 && step ? stepType(*step, dtype) : bound->type.element;
    dtype = i == 0 && type.bits() >= 32 ? type : promoteIntegers(dtype, type);
  }
  if (step && dtype.isSigned() &&
      (isDown ? -*step - 1 : *step) >= BigInt(1) << (dtype.bits() - 1)) {
    error(span, "the step of a range does not fit into `" + dtype.name() + "`");
    return std::nullopt;
  }
  for (Runtime &bound : bounds)
    bound = *cast(bound, dtype, span);
  return bounds;
}

namespace {
/// The unroll factor of the range; 1 without one, and if it is out of range.
int64_t unrollFactor(const RangeValue &range) {
  constexpr BigInt largest = 64;
  for (const auto &[name, value] : range.hints)
    if (name == "loop_unroll_factor" && value > 1 && value <= largest)
      return int64_t(value);
  return 1;
}
} // namespace

/// Ends a loop whose body control leaves as `exit` says.
template <typename Loop>
void Emitter::endLoop(Loop loop, FlowState flow, Carried &carried, const Variables &before,
                      const ast::Block &orelse, bool isEndless) {
  if (!flow.mayLeave()) {
    carried.leave(before, loop.getResults());
    return isEndless ? void() : loopElse(orelse, false);
  }
  EarlyExit exit{*this, std::move(flow), &loop->getRegions().back(), {}, {}};
  exit.planFlow();
  scf::WhileOp whole = leaveEarly(loop, exit);
  carried.leave(before, whole.getResults());
  FlowState after =
      exit.fillFlow(whole.getResults().slice(carried.inits.size(), exit.inits.size()));
  Value broke = after.by(Exit::Break);
  isEndless &= !after.may(Exit::Break);
  after.by(Exit::Break) = false;
  after.flow = after.may(Exit::Return) ? Flow::Maybe : Flow::Falls;
  if (isEndless && after.may(Exit::Return)) {
    after.flow = Flow::Leaves;
    after.by(Exit::Return) = true;
  }
  frame->flow = std::move(after);
  loopElse(orelse, broke);
}

void Emitter::runtimeLoop(const ast::For &node, const RangeValue &range) {
  auto *target = llvm::dyn_cast<ast::Name>(node.target.get());
  if (!target) {
    error(node.target->span, "the variable of a loop over a range must be a name");
    return;
  }
  std::optional<std::array<Runtime, 3>> bounds = loopBounds(range, node.iter->span);
  if (!bounds)
    return;
  const auto &[low, high, step] = *bounds;
  std::optional<BigInt> knownStep = knownInt(*range.step);
  const bool isDown = knownStep && *knownStep < 0;
  const AssignedNames &assigned = frame->function->assigned;
  const bool isRead = assigned.isReadAfter(node, target->id);
  const bool isCarried = isRead && assigned.of(node).contains(target->id);
  KeptIndex kept{*this, *target, low, high, step, isDown};
  std::optional<Variable> instead;
  if (isRead)
    kept.look();
  if (isCarried)
    instead = kept.carry();
  Carried carried{*this, {}, {}};
  carried.collect(node, node.iter->span);
  DType dtype = low.type.element;
  auto emptyBody = [](mlir::OpBuilder &, mlir::Location, mlir::Value, mlir::ValueRange) {};
  Place at(*this, node.target->span.to(node.iter->span));
  const bool countsLength =
      isDown && dtype.isSigned() && -*knownStep == BigInt(1) << (dtype.bits() - 1);
  const Runtime first = countsLength ? constant(dtype, BigInt(0)) : low;
  const Runtime past = countsLength ? kept.length() : high;
  auto loop = scf::ForOp::create(b, loc(), first.ir, past.ir, step.ir, carried.inits, emptyBody,
                                 countsLength || !dtype.isSigned());
  for (const auto &[name, value] : range.hints)
    loop->setAttr("tile." + name, b.getI32IntegerAttr(int32_t(value)));
  Variables before = frame->variables;
  FlowState flow;
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value index = Runtime{loop.getInductionVar(), {dtype, {}}};
    if (isDown) {
      // This may wrap, and wraps back.
      Value up = binary(ast::BinaryOp::Sub, index, first, here(), false);
      index = binary(ast::BinaryOp::Sub, high, up, here(), false);
    }
    carried.bind(loop.getRegionIterArgs());
    assignName(target->id, index, target->span);
    flow = loopBody(node.body);
    scf::YieldOp::create(b, loc(), carried.finals());
  }
  if (isRead && !isCarried)
    before[target->id] = kept.fromBounds();
  countLong(*this, loop);
  if (int64_t factor = unrollFactor(range); factor > 1 && !flow.mayLeave())
    unroll(*this, loop, factor);
  endLoop(loop, std::move(flow), carried, before, node.orelse, false);
  if (instead)
    frame->variables[target->id] = *instead;
}

void Emitter::whileStmt(const ast::While &node) {
  Variables before = frame->variables;
  Carried carried{*this, {}, {}};
  carried.collect(node, node.test->span);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value init : carried.inits)
    types.push_back(init.getType());
  Place at(*this, node.test->span);
  auto loop = scf::WhileOp::create(b, loc(), types, carried.inits);
  llvm::SmallVector<mlir::Location> locs(types.size(), loc());
  FlowState flow;
  std::optional<bool> truth;
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    mlir::Block *test = b.createBlock(&loop.getBefore(), {}, types, locs);
    carried.bind(test->getArguments());
    const bool around = std::exchange(keepsInvariants, false);
    Value value = expr(*node.test);
    if (std::exchange(keepsInvariants, around))
      loop->setAttr(names::disableLicm, b.getI32IntegerAttr(1));
    truth = knownTruth(value);
    if (truth != false) {
      std::optional<Runtime> flag = condition(value, node.test->span);
      scf::ConditionOp::create(b, loc(), flag ? flag->ir : isSet(false).ir, test->getArguments());
      mlir::Block *body = b.createBlock(&loop.getAfter(), {}, types, locs);
      carried.bind(body->getArguments());
      flow = loopBody(node.body);
      scf::YieldOp::create(b, loc(), carried.finals());
    }
  }
  if (truth == false) {
    loop.erase();
    frame->variables = std::move(before);
    return loopElse(node.orelse, false);
  }
  endLoop(loop, std::move(flow), carried, before, node.orelse, truth == true);
}
