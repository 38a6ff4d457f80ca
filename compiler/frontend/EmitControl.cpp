//===- EmitControl.cpp - `if` and the run-time ternary ----------------------------------===//
// Needs: conditions that are known (then one branch is emitted) or scalars at run time.
// Gives: scf.if that yields every variable whose value depends on the branch taken.
// How:   Both branches are emitted into a provisional scf.if, each from the same variables. Their
//        variables are merged: equal values stay, run-time values of one type become results, and a
//        variable without one type is marked, so that only reading it is an error. A path that has
//        returned yields zeros, which are unused; one that leaves a loop's body by `break` or
//        `continue` yields its variables. The final scf.if takes over the bodies.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <llvm/Support/SaveAndRestore.h>

using namespace pantile;
namespace scf = mlir::scf;
using llvm::StringRef;

/// Collects what the two branches yield. `plan` gives the merged value with placeholders (a
/// run-time value without `ir`), which `fill` replaces in the same order once the results exist.
struct Emitter::Merge {
  Emitter &e;
  mlir::Block *blocks[2];
  llvm::SmallVector<mlir::Value> yields[2];
  llvm::SmallVector<mlir::Type> types;

  bool isInside(mlir::Value ir, int side) {
    return blocks[side]->getParent()->isAncestor(ir.getParentRegion());
  }
  Value hole(mlir::Value a, mlir::Value b, const Type &type) {
    yields[0].push_back(a);
    yields[1].push_back(b);
    types.push_back(a.getType());
    return Runtime{{}, type};
  }
  /// The merged value where only `side` matters.
  Value planOne(const Value &value, int side) {
    if (value.isStruct()) {
      std::vector<Value> elements;
      for (const Value &element : value.elements())
        elements.push_back(planOne(element, side));
      return value.withElements(std::move(elements));
    }
    auto *runtime = value.dynAs<Runtime>();
    if (!runtime || !isInside(runtime->ir, side))
      return value;
    mlir::OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(blocks[1 - side]);
    mlir::Value unseen = e.zero(runtime->type).ir;
    return side == 0 ? hole(runtime->ir, unseen, runtime->type)
                     : hole(unseen, runtime->ir, runtime->type);
  }
  /// A number as a run-time scalar: of the other side's type if that has room for it.
  std::optional<Runtime> scalarBeside(const Value &value, const Value &other) {
    if (auto *runtime = value.dynAs<Runtime>())
      return *runtime;
    auto *typed = other.dynAs<Runtime>();
    DType literal = value.is<bool>()     ? DType(Scalar::I1)
                    : value.is<double>() ? literalType(value.as<double>())
                                         : literalType(*constantInt(value)).value_or(Scalar::I64);
    if (!typed || !typed->type.element.isNumber() || literal.kind() > typed->type.element.kind() ||
        (typed->type.element.isInt() && !fitsInto(*constantInt(value), typed->type.element)))
      return e.number(value, literal, e.here());
    return e.number(value, typed->type.element, e.here());
  }
  std::optional<Value> planStruct(const Value &a, const Value &b, bool exact) {
    std::vector<Value> elements;
    size_t yielded = types.size();
    exact |= !a.isTuple();
    for (size_t i = 0; i < a.elements().size(); ++i) {
      std::optional<Value> element = plan(a.elements()[i], b.elements()[i], exact);
      if (!element) {
        yields[0].truncate(yielded);
        yields[1].truncate(yielded);
        types.truncate(yielded);
        return std::nullopt;
      }
      elements.push_back(*element);
    }
    return a.withElements(std::move(elements));
  }
  /// `exact`: numbers are compile-time parts of an object, such as the shape of a block, and must
  /// agree.
  std::optional<Value> plan(const Value &a, const Value &b, bool exact = false) {
    if (a.failed() || b.failed())
      return Value(Failed());
    if (constantsEqual(a, b))
      return a;
    if (a.isComplex() && b.isComplex())
      return planStruct(e.stored(a, e.here()), e.stored(b, e.here()), exact);
    if (sameStructure(a, b))
      return planStruct(a, b, exact);
    auto mergeable = [](const Value &v) { return v.isRuntime() || v.isNumber(); };
    if (!mergeable(a) || !mergeable(b) || (exact && a.isNumber() && b.isNumber()))
      return std::nullopt;
    std::optional<Runtime> x = scalarBeside(a, b), y = scalarBeside(b, a);
    if (!x || !y || x->type != y->type)
      return std::nullopt;
    Type type = x->type;
    type.element.isConst |= y->type.element.isConst;
    return hole(x->ir, y->ir, type);
  }
  Value fill(const Value &value, mlir::ResultRange results, size_t &next) {
    if (value.isStruct()) {
      std::vector<Value> elements;
      for (const Value &element : value.elements())
        elements.push_back(fill(element, results, next));
      return value.withElements(std::move(elements));
    }
    auto *runtime = value.dynAs<Runtime>();
    return runtime && !runtime->ir ? Value(Runtime{results[next++], runtime->type}) : value;
  }
  /// The final operation in the place of the provisional one.
  scf::IfOp finish(scf::IfOp provisional) {
    mlir::OpBuilder::InsertionGuard guard(e.b);
    for (int side : {0, 1}) {
      e.b.setInsertionPointToEnd(blocks[side]);
      scf::YieldOp::create(e.b, provisional.getLoc(), yields[side]);
    }
    e.b.setInsertionPoint(provisional);
    auto result = scf::IfOp::create(e.b, provisional.getLoc(), types, provisional.getCondition(),
                                    false, false);
    result.getThenRegion().takeBody(provisional.getThenRegion());
    if (!types.empty() || blocks[1]->getOperations().size() > 1)
      result.getElseRegion().takeBody(provisional.getElseRegion());
    provisional.erase();
    return result;
  }
};

void Emitter::continueBranch(Branch &branch, llvm::function_ref<void()> body) {
  mlir::OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.block);
  std::swap(frame->variables, branch.variables);
  std::swap(frame->flow, branch.flow);
  body();
  std::swap(frame->variables, branch.variables);
  std::swap(frame->flow, branch.flow);
}

Emitter::Branch Emitter::branch(mlir::Block *block, llvm::function_ref<void()> body) {
  llvm::SaveAndRestore deeper(nesting, nesting + 1);
  Branch result{block, frame->variables, {}};
  continueBranch(result, body);
  return result;
}

namespace {
using Defect = std::shared_ptr<const DefectValue>;

Value mixedTypes(StringRef name, const Variable &a, const Variable &b) {
  DefectValue defect;
  auto [first, second] = contrastText(a.value, b.value);
  defect.message = "`" + name.str() + "` is " + first + " after one branch of an `if` and " +
                   second + " after the other" +
                   inTriton("Mismatched type for " + name.str() + " between then block");
  defect.notes = {{a.assigned, first + " is assigned here"},
                  {b.assigned, second + " is assigned here"}};
  return std::make_shared<const DefectValue>(std::move(defect));
}

Value halfDefined(StringRef name, const Variable &variable) {
  DefectValue defect;
  defect.message = "`" + name.str() + "` is assigned in one branch of an `if` only";
  defect.notes = {{variable.assigned, "it is assigned here"}};
  return std::make_shared<const DefectValue>(std::move(defect));
}

} // namespace

/// How one variable comes out of a branch.
struct Emitter::MergeSide {
  const Variable *variable = nullptr; ///< null where it does not exist
  bool keeps = true;                  ///< a path out of the branch needs it
  bool continues = true;              ///< such a path leads to the next statement
};

/// Why `a` and `c` have no common value; none where they may have one.
static std::optional<Value> defectOf(StringRef name, const Emitter::MergeSide &a,
                                     const Emitter::MergeSide &c) {
  if (!a.variable || !c.variable)
    return halfDefined(name, a.variable ? *a.variable : *c.variable);
  for (const Emitter::MergeSide *side : {&a, &c})
    if (side->variable->value.is<Defect>())
      return side->variable->value;
  return std::nullopt;
}

/// The merged value of `name`, with placeholders. If one branch leaves a loop's body, the other
/// one's value is used, and that the paths differ is recorded for the end of the body.
Value Emitter::planVariable(Merge &merge, StringRef name, const MergeSide &a, const MergeSide &c) {
  if (!a.keeps || !c.keeps)
    return merge.planOne((a.keeps ? a : c).variable->value, a.keeps ? 0 : 1);
  std::optional<Value> defect = defectOf(name, a, c);
  if (!defect) {
    if (std::optional<Value> merged = merge.plan(a.variable->value, c.variable->value))
      return *merged;
    defect = mixedTypes(name, *a.variable, *c.variable);
  }
  const MergeSide &only = a.continues ? a : c;
  if (a.continues == c.continues || !only.variable || only.variable->value.is<Defect>())
    return *defect;
  frame->loop->defects[name] = {*defect, only.variable->assigned, nextVersion++};
  return merge.planOne(only.variable->value, a.continues ? 0 : 1);
}

void FlowState::rejoin(Exit exit) {
  bool leftSo = may(exit);
  by(exit) = false;
  if (leftSo)
    flow = mayLeave() ? Flow::Maybe : Flow::Falls;
}

Runtime Emitter::isSet(const Value &flag) {
  return flag.isRuntime() ? flag.as<Runtime>() : constant(Scalar::I1, BigInt(flag.as<bool>()));
}

Runtime Emitter::hasLeft(const FlowState &flow) {
  std::optional<Runtime> result;
  for (Exit exit : allExits) {
    if (!flow.may(exit))
      continue;
    Runtime flag = isSet(flow.by(exit));
    result =
        result ? Runtime{b.createOrFold<mlir::arith::OrIOp>(loc(), result->ir, flag.ir), flag.type}
               : flag;
  }
  return result ? *result : isSet(false);
}

/// The flow after the `if`, with placeholders.
FlowState Emitter::planFlow(Merge &merge, const FlowState &a, const FlowState &c) {
  if (a.flow == Flow::Falls && c.flow == Flow::Falls)
    return {};
  FlowState result;
  result.flow = a.flow == Flow::Leaves && c.flow == Flow::Leaves ? Flow::Leaves : Flow::Maybe;
  bool returns = a.may(Exit::Return), alsoReturns = c.may(Exit::Return);
  result.returned = returns ? a.returned : c.returned;
  if (returns && alsoReturns) {
    std::optional<Value> merged = merge.plan(a.value, c.value);
    result.value =
        merged ? *merged
               : error(c.returned,
                       "inconsistent return types: this `return` gives " + kindText(c.value) +
                           ", another one of the function " + kindText(a.value),
                       ErrorKind::Type, {{a.returned, "the other `return` is here"}});
  } else if (returns || alsoReturns) {
    result.value = returns ? merge.planOne(a.value, 0) : merge.planOne(c.value, 1);
  }
  for (Exit exit : allExits) {
    const Value &x = a.by(exit), &y = c.by(exit);
    result.by(exit) =
        constantsEqual(x, y) ? x : merge.hole(isSet(x).ir, isSet(y).ir, Type{Scalar::I1, {}});
  }
  return result;
}

void Emitter::mergeBranches(mlir::Operation *provisional, Branch &a, Branch &c) {
  Merge merge{*this, {a.block, c.block}, {}, {}};
  bool aKeeps = a.flow.keepsVariables(), cKeeps = c.flow.keepsVariables();
  Variables merged;
  auto add = [&](StringRef name, const Variable *x, const Variable *y) {
    if (x && y && x->version == y->version) {
      merged[name] = *x;
      return;
    }
    if ((!aKeeps && !y) || (!cKeeps && !x))
      return;
    SourceSpan assigned = (x ? x : y)->assigned;
    Value value = planVariable(merge, name, {x, aKeeps, a.flow.flow != Flow::Leaves},
                               {y, cKeeps, c.flow.flow != Flow::Leaves});
    merged[name] = {value, assigned, nextVersion++};
  };
  auto find = [](const Variables &variables, StringRef name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : &found->second;
  };
  if (aKeeps || cKeeps) {
    for (const auto &[name, variable] : a.variables)
      add(name, &variable, find(c.variables, name));
    for (const auto &[name, variable] : c.variables)
      if (!a.variables.contains(name))
        add(name, nullptr, &variable);
  }
  FlowState flow = planFlow(merge, a.flow, c.flow);
  scf::IfOp result = merge.finish(mlir::cast<scf::IfOp>(provisional));
  size_t next = 0;
  for (auto &[name, variable] : merged)
    variable.value = merge.fill(variable.value, result.getResults(), next);
  flow.value = merge.fill(flow.value, result.getResults(), next);
  for (Value &flag : flow.left)
    flag = merge.fill(flag, result.getResults(), next);
  if (aKeeps || cKeeps)
    frame->variables = std::move(merged);
  frame->flow = flow;
}

std::optional<Runtime> Emitter::condition(const Value &value, SourceSpan span) {
  std::optional<Runtime> flag = toBool(value, span);
  if (!flag || !flag->type.isTile())
    return flag;
  if (flag->type.count() != 1) {
    error(span, "a condition must be a scalar, got " + kindText(value) +
                    "; `tl.where` chooses by element" +
                    inTriton("Boolean value of Tensor with more than one value is ambiguous"));
    return std::nullopt;
  }
  warning(span, "the condition is a tile of one element, " + kindText(value) +
                    "; `.item()` makes it a scalar");
  return Runtime{UnsplatOp::create(b, loc(), irType(Scalar::I1), flag->ir), {Scalar::I1, {}}};
}

bool Emitter::ifStmt(const ast::If &node, Stmts rest) {
  Value test = expr(*node.test);
  if (test.failed()) {
    block(node.body);
    return false;
  }
  if (std::optional<bool> truth = knownTruth(test)) {
    block(*truth ? node.body : node.orelse);
    return false;
  }
  std::optional<Runtime> flag = condition(test, node.test->span);
  return flag && runtimeIf(node, *flag, rest);
}

/// If a branch leaves on all its paths, the rest of the block is emitted into the other one.
bool Emitter::runtimeIf(const ast::If &node, const Runtime &flag, Stmts rest) {
  auto provisional = scf::IfOp::create(b, loc(), mlir::TypeRange(), flag.ir, true, true);
  Branch taken = branch(provisional.thenBlock(), [&] { block(node.body); });
  bool takenLeaves = taken.flow.flow == Flow::Leaves;
  Branch other = branch(provisional.elseBlock(), [&] {
    llvm::SmallVector<const ast::Stmt *> stmts;
    for (const ast::StmtPtr &stmt : node.orelse)
      stmts.push_back(stmt.get());
    if (takenLeaves)
      stmts.append(rest.begin(), rest.end());
    sequence(stmts);
  });
  bool goesOn = !takenLeaves && other.flow.flow == Flow::Leaves && !rest.empty();
  if (goesOn)
    continueBranch(taken,
                   [&] { frame->flow.flow == Flow::Maybe ? guardedRest(rest) : sequence(rest); });
  mergeBranches(provisional, taken, other);
  return takenLeaves || goesOn;
}

void Emitter::emitIf(const Runtime &condition, llvm::function_ref<void()> body) {
  auto provisional = scf::IfOp::create(b, loc(), mlir::TypeRange(), condition.ir, true, true);
  Branch taken = branch(provisional.thenBlock(), body);
  Branch other{provisional.elseBlock(), frame->variables, {}};
  mergeBranches(provisional, taken, other);
}

void Emitter::guarded(llvm::function_ref<void()> body) {
  FlowState before = frame->flow;
  Value goesOn = unary(ast::UnaryOp::Not, hasLeft(before), here());
  auto provisional =
      scf::IfOp::create(b, loc(), mlir::TypeRange(), goesOn.as<Runtime>().ir, true, true);
  Branch taken = branch(provisional.thenBlock(), body);
  Branch other{provisional.elseBlock(), frame->variables, before};
  other.flow.flow = Flow::Leaves;
  if (llvm::count_if(allExits, [&](Exit exit) { return before.may(exit); }) == 1)
    for (Exit exit : allExits)
      other.flow.by(exit) = before.may(exit);
  mergeBranches(provisional, taken, other);
}

void Emitter::guardedRest(Stmts rest) {
  Place at(*this, rest.front()->span.to(rest.back()->span));
  guarded([&] { sequence(rest); });
}

Value Emitter::ternary(const ast::IfExp &node) {
  Value test = expr(*node.test);
  if (test.failed())
    return test;
  if (std::optional<bool> truth = knownTruth(test))
    return expr(*truth ? *node.body : *node.orelse);
  std::optional<Runtime> flag = condition(test, node.test->span);
  if (!flag)
    return Failed();
  auto provisional = scf::IfOp::create(b, loc(), mlir::TypeRange(), flag->ir, true, true);
  Value values[2];
  Branch taken = branch(provisional.thenBlock(), [&] { values[0] = expr(*node.body); });
  Branch other = branch(provisional.elseBlock(), [&] { values[1] = expr(*node.orelse); });
  Merge merge{*this, {taken.block, other.block}, {}, {}};
  std::optional<Value> merged = merge.plan(values[0], values[1]);
  scf::IfOp result = merge.finish(provisional);
  if (!merged) {
    auto [first, second] = contrastText(values[0], values[1]);
    return error(node.span,
                 "the two sides of a conditional expression are " + first + " and " + second +
                     inTriton("Ternary expression with dynamic condition has inconsistent types"));
  }
  size_t next = 0;
  return merge.fill(*merged, result.getResults(), next);
}
