//===- EmitLoop.cpp - `for` and `while` -------------------------------------------------===//
// Needs: the names each loop assigns (AssignedNames).
// Gives: scf.for and scf.while whose carried values are the run-time parts of the variables
//        that exist before the loop and are assigned in it; unrolled static loops.
// How:   the body is emitted once, from block arguments of the initial types. A variable that
//        has another type after the body is an error. What only the body defines does not
//        live on. `range` with a negative constant step counts up and mirrors the index.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace pantile;
namespace scf = mlir::scf;
using llvm::StringRef;

/// The variables that a loop carries, and their run-time parts.
struct Emitter::Carried {
  struct Entry {
    StringRef name;
    Variable before;
  };
  Emitter &e;
  llvm::SmallVector<Entry> entries;
  llvm::SmallVector<mlir::Value> inits;

  void collect(const AssignedNames::Names &names, SourceSpan span) {
    for (StringRef name : names) {
      auto found = e.frame->variables.find(name);
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
    else if (value.isTuple())
      for (const Value &element : value.elements())
        flatten(element, parts);
  }
  template <typename Range> static Value rebuild(const Value &value, Range &&parts, size_t &next) {
    if (auto *runtime = value.dynAs<Runtime>())
      return Runtime{parts[next++], runtime->type};
    if (!value.isTuple())
      return value;
    std::vector<Value> elements;
    for (const Value &element : value.elements())
      elements.push_back(rebuild(element, parts, next));
    return Value::tuple(std::move(elements), value.as<TupleRef>()->fields);
  }
  /// Binds the carried variables to `parts`.
  template <typename Range> void bind(Range &&parts) {
    size_t next = 0;
    for (const Entry &entry : entries) {
      Value value = rebuild(entry.before.value, parts, next);
      e.frame->variables[entry.name] = {value, entry.before.assigned, e.nextVersion++};
    }
  }
  /// Appends the parts of `after` that go on to the next iteration; false if it does not match.
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
    if (!before.isTuple())
      return constantsEqual(before, after);
    if (!after.isTuple() || after.elements().size() != before.elements().size())
      return false;
    for (size_t i = 0; i < before.elements().size(); ++i)
      if (!match(before.elements()[i], after.elements()[i], parts))
        return false;
    return true;
  }
  void report(const Entry &entry, const Variable &after) {
    std::string was = kindText(entry.before.value), is = kindText(after.value);
    std::string name = "`" + entry.name.str() + "`";
    if (was == is && !entry.before.value.isTuple())
      e.error(after.assigned, name + " is a " + was + ", which cannot change in a loop",
              ErrorKind::Type, {{entry.before.assigned, "it is assigned before the loop here"}});
    else
      e.error(after.assigned,
              name + " is " + was + " before the loop and " + is + " after an iteration",
              ErrorKind::Type, {{entry.before.assigned, was + " is assigned here"}});
  }
  /// The values at the end of the body.
  llvm::SmallVector<mlir::Value> finals() {
    llvm::SmallVector<mlir::Value> parts;
    for (const Entry &entry : entries) {
      const Variable &after = e.frame->variables[entry.name];
      size_t size = parts.size();
      if (isUsable(after.value) && match(entry.before.value, after.value, parts))
        continue;
      if (auto *defect = after.value.dynAs<std::shared_ptr<const DefectValue>>())
        e.error(after.assigned, (*defect)->message, ErrorKind::Type, (*defect)->notes);
      else if (!after.value.failed())
        report(entry, after);
      parts.truncate(size);
      flatten(entry.before.value, parts);
    }
    return parts;
  }
  /// After the loop: carried variables have its results, what the body alone defined is marked.
  void leave(const Variables &before, mlir::ResultRange results) {
    Variables inside = std::move(e.frame->variables);
    e.frame->variables = before;
    bind(results);
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

void Emitter::forStmt(const ast::For &node) {
  if (!node.orelse.empty()) {
    error(node.orelse.front()->span, "`else` after a loop is not supported in a kernel",
          ErrorKind::Unsupported);
    return;
  }
  Value iter = expr(*node.iter);
  if (iter.failed())
    return;
  if (iter.isTuple())
    return unrolled(node, iter.elements());
  auto *range = iter.dynAs<RangeValue>();
  if (!range) {
    error(node.iter->span,
          "a `for` runs over `range`, `tl.range` or `tl.static_range`, got a " + kindText(iter),
          ErrorKind::Unsupported);
    return;
  }
  range->isStatic ? staticLoop(node, *range) : runtimeLoop(node, *range);
}

void Emitter::unrolled(const ast::For &node, llvm::ArrayRef<Value> items) {
  ++frame->loopDepth;
  for (const Value &item : items) {
    assign(*node.target, item);
    block(node.body);
  }
  --frame->loopDepth;
}

void Emitter::staticLoop(const ast::For &node, const RangeValue &range) {
  constexpr BigInt maxIterations = 100000;
  SourceSpan span = node.iter->span;
  auto start = needInt(*range.start, span, "the start of `static_range`");
  auto stop = needInt(*range.stop, span, "the end of `static_range`");
  auto step = needInt(*range.step, span, "the step of `static_range`");
  if (!start || !stop || !step)
    return;
  if (*step == 0) {
    error(span, "the step of a range is 0");
    return;
  }
  std::vector<Value> items;
  for (BigInt i = *start; *step > 0 ? i < *stop : i > *stop; i += *step) {
    if (BigInt(items.size()) >= maxIterations) {
      error(span, "`static_range` has more than " + bigIntText(maxIterations) + " iterations");
      return;
    }
    items.push_back(i);
  }
  unrolled(node, items);
}

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
    dtype = i == 0 && bound->type.element.bits() >= 32
                ? bound->type.element
                : promoteIntegers(dtype, bound->type.element);
  }
  for (Runtime &bound : bounds)
    bound = *cast(bound, dtype, span);
  return bounds;
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
  Carried carried{*this, {}, {}};
  carried.collect(frame->function->assigned.of(node), node.iter->span);
  DType dtype = low.type.element;
  auto emptyBody = [](mlir::OpBuilder &, mlir::Location, mlir::Value, mlir::ValueRange) {};
  Place at(*this, node.target->span.to(node.iter->span));
  auto loop = scf::ForOp::create(b, loc(), low.ir, high.ir, step.ir, carried.inits, emptyBody,
                                 !dtype.isSigned());
  for (const auto &[name, value] : range.hints)
    loop->setAttr("tile." + name, b.getI32IntegerAttr(int32_t(value)));
  Variables before = frame->variables;
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value index = Runtime{loop.getInductionVar(), {dtype, {}}};
    if (std::optional<BigInt> known = knownInt(*range.step); known && *known < 0) {
      Value up = binary(ast::BinaryOp::Sub, index, low, here());
      index = binary(ast::BinaryOp::Sub, high, up, here());
    }
    carried.bind(loop.getRegionIterArgs());
    assignName(target->id, index, target->span);
    ++frame->loopDepth;
    block(node.body);
    --frame->loopDepth;
    scf::YieldOp::create(b, loc(), carried.finals());
  }
  before.erase(target->id);
  carried.leave(before, loop.getResults());
}

void Emitter::whileStmt(const ast::While &node) {
  if (!node.orelse.empty()) {
    error(node.orelse.front()->span, "`else` after a loop is not supported in a kernel",
          ErrorKind::Unsupported);
    return;
  }
  Carried carried{*this, {}, {}};
  carried.collect(frame->function->assigned.of(node), node.test->span);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value init : carried.inits)
    types.push_back(init.getType());
  Place at(*this, node.test->span);
  auto loop = scf::WhileOp::create(b, loc(), types, carried.inits);
  llvm::SmallVector<mlir::Location> locs(types.size(), loc());
  Variables before = frame->variables;
  {
    mlir::OpBuilder::InsertionGuard guard(b);
    mlir::Block *test = b.createBlock(&loop.getBefore(), {}, types, locs);
    carried.bind(test->getArguments());
    Value value = expr(*node.test);
    std::optional<Runtime> flag = condition(value, node.test->span);
    scf::ConditionOp::create(b, loc(), flag ? flag->ir : constant(Scalar::I1, BigInt(0)).ir,
                             test->getArguments());
    mlir::Block *body = b.createBlock(&loop.getAfter(), {}, types, locs);
    carried.bind(body->getArguments());
    ++frame->loopDepth;
    block(node.body);
    --frame->loopDepth;
    scf::YieldOp::create(b, loc(), carried.finals());
  }
  carried.leave(before, loop.getResults());
}
