//===- EmitStmt.cpp - statements without control flow, and blocks of statements ---------===//
// Gives: emission of a block in order, with early returns, and of assignments.
// How:   After an `if` that returned on some paths, the rest of the block is emitted under the flag
//        that says it did not. An assigned number becomes a run-time scalar of its literal type,
//        unless the assignment is annotated constexpr.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;
using ast::Stmt;
using llvm::StringRef;

void Emitter::block(const ast::Block &stmts) {
  llvm::SmallVector<const Stmt *> list;
  for (const ast::StmtPtr &stmt : stmts)
    list.push_back(stmt.get());
  sequence(list);
}

void Emitter::sequence(Stmts stmts) {
  for (size_t i = 0; i < stmts.size(); ++i) {
    Stmts rest = stmts.drop_front(i + 1);
    if (auto *branch = llvm::dyn_cast<ast::If>(stmts[i])) {
      Place at(*this, branch->span);
      if (ifStmt(*branch, rest))
        return;
    } else {
      stmt(*stmts[i]);
    }
    if (frame->flow.flow == Flow::Leaves)
      return;
    if (frame->flow.flow == Flow::Maybe && !rest.empty())
      return guardedRest(rest);
  }
}

std::string pantile::insteadOf(StringRef construct) {
  return llvm::StringSwitch<std::string>(construct)
      .Case("`try`", "; a kernel has no exceptions: test with `if`, or with `tl.device_assert`")
      .Case("`raise`", "; `tl.static_assert` and `tl.device_assert` stop with a message")
      .Case("`import`", "; import at the top of the file")
      .Cases({"`global`", "`nonlocal`"}, "; return the new value instead")
      .Case("`del`", "; a variable needs no end")
      .Case("`class`", "; define it outside with `triton.aggregate`, or use a NamedTuple")
      .Case("`match`", "; use `if` and `elif`")
      .Case("`type`", "; annotate with the type itself")
      .Cases({"`async`", "`await`"}, "; loads are made asynchronous by the compiler")
      .Case("`yield`", "; return a tuple")
      .Case("`:=`", "; assign in a statement of its own")
      .Cases({"a dictionary", "a dictionary comprehension"}, "; use a tuple or a NamedTuple")
      .Cases({"a set", "a set comprehension"}, "; use a tuple")
      .Case("a bytes string", "; use a string")
      .Default("");
}

void Emitter::stmt(const Stmt &node) {
  Place at(*this, node.span);
  if (isTooMuch(node.span))
    return;
  switch (node.kind) {
  case Stmt::Kind::Expr:
    return exprStmt(*llvm::cast<ast::ExprStmt>(&node));
  case Stmt::Kind::Assign: {
    auto *assignment = llvm::cast<ast::Assign>(&node);
    const Value value = expr(*assignment->value);
    for (const ast::ExprPtr &target : assignment->targets)
      assign(*target, storedIn(*target, value, assignment->value->span));
    return;
  }
  case Stmt::Kind::AugAssign:
    return augAssign(*llvm::cast<ast::AugAssign>(&node));
  case Stmt::Kind::AnnAssign:
    return annAssign(*llvm::cast<ast::AnnAssign>(&node));
  case Stmt::Kind::For:
    return forStmt(*llvm::cast<ast::For>(&node));
  case Stmt::Kind::While:
    return whileStmt(*llvm::cast<ast::While>(&node));
  case Stmt::Kind::Return:
    return returnStmt(*llvm::cast<ast::Return>(&node));
  case Stmt::Kind::Assert:
    return assertStmt(*llvm::cast<ast::Assert>(&node));
  case Stmt::Kind::Pass:
  case Stmt::Kind::If:
    return;
  case Stmt::Kind::Break:
  case Stmt::Kind::Continue:
    frame->flow.flow = Flow::Leaves;
    frame->flow.by(node.kind == Stmt::Kind::Break ? Exit::Break : Exit::Continue) = true;
    return;
  case Stmt::Kind::FunctionDef:
    return innerFunction(*llvm::cast<ast::FunctionDef>(&node));
  case Stmt::Kind::With:
    error(llvm::cast<ast::With>(&node)->items.front().context->span,
          "`with` is not supported in a kernel: the language has no context managers",
          ErrorKind::Unsupported);
    return;
  case Stmt::Kind::Unsupported: {
    const std::string &construct = llvm::cast<ast::UnsupportedStmt>(&node)->construct;
    error(node.span, construct + " is not supported in a kernel" + insteadOf(construct),
          ErrorKind::Unsupported);
    return failNames(*llvm::cast<ast::UnsupportedStmt>(&node));
  }
  }
}

/// What the statement would have defined fails silently.
void Emitter::failNames(const ast::UnsupportedStmt &node) {
  if (!node.name.empty())
    assignName(node.name, Failed(), node.span);
  for (const ast::ImportedName &import : node.imports) {
    StringRef name =
        import.name.empty() ? StringRef(import.module).split('.').first : StringRef(import.name);
    assignName(import.alias.empty() ? name : StringRef(import.alias), Failed(), node.span);
  }
}

namespace {
const std::vector<ast::ExprPtr> *elementsOf(const ast::Expr &target) {
  if (auto *tuple = llvm::dyn_cast<ast::Tuple>(&target))
    return &tuple->elements;
  if (auto *list = llvm::dyn_cast<ast::List>(&target))
    return &list->elements;
  return nullptr;
}
} // namespace

Value Emitter::stored(const Value &value, SourceSpan span) {
  if (value.isNumber()) {
    std::optional<Runtime> scalar = runtime(value, span);
    return scalar ? Value(*scalar) : Value(Failed());
  }
  if (value.isComplex()) {
    auto parts = complexParts(*this, value, span);
    return parts ? complexValue(*parts) : Value(Failed());
  }
  if (!value.isTuple())
    return value;
  std::vector<Value> elements;
  for (const Value &element : value.elements())
    elements.push_back(stored(element, span));
  return value.withElements(std::move(elements));
}

Value Emitter::storedIn(const ast::Expr &target, const Value &value, SourceSpan span) {
  if (llvm::isa<ast::Subscript>(&target))
    return value;
  const auto *targets = elementsOf(target);
  if (!targets || !value.isTuple() || value.elements().size() != targets->size())
    return stored(value, span);
  std::vector<Value> elements;
  for (auto [element, part] : llvm::zip_equal(*targets, value.elements()))
    elements.push_back(storedIn(*element, part, span));
  return value.withElements(std::move(elements));
}

void Emitter::assignName(StringRef name, Value value, SourceSpan span) {
  frame->variables[name] = {std::move(value), span, nextVersion++};
}

void Emitter::assign(const ast::Expr &target, const Value &value) {
  if (auto *name = llvm::dyn_cast<ast::Name>(&target))
    return assignName(name->id, value, target.span);
  auto *field = llvm::dyn_cast<ast::Attribute>(&target);
  if (field && assignField(*field, value))
    return;
  if (auto *indexed = llvm::dyn_cast<ast::Subscript>(&target))
    return assignIndexed(*indexed, value, target.span);
  const auto *targets = elementsOf(target);
  if (!targets) {
    error(target.span,
          "assignment to an attribute is not supported in a kernel; values do not change: make a "
          "new one",
          ErrorKind::Unsupported);
    return;
  }
  unpack(target, *targets, value);
}

/// A starred target takes the remaining values; of a tile, rows.
void Emitter::unpack(const ast::Expr &target, llvm::ArrayRef<ast::ExprPtr> targets,
                     const Value &value) {
  if (auto *tile = value.dynAs<Runtime>(); tile && tile->type.isTile()) {
    auto rows = itemsOf(value, target.span, "unpacking");
    return unpack(target, targets, rows ? Value::tuple(std::move(*rows)) : Value(Failed()));
  }
  auto starred = llvm::find_if(targets, [](auto &t) { return llvm::isa<ast::Starred>(*t); });
  bool hasStar = starred != targets.end();
  size_t wanted = targets.size() - hasStar;
  llvm::ArrayRef<Value> given;
  if (value.isTuple())
    given = value.elements();
  bool matches = value.isTuple() && (hasStar ? given.size() >= wanted : given.size() == wanted);
  if (!matches && !value.failed())
    error(target.span, value.isTuple()
                           ? "cannot unpack " + std::to_string(given.size()) + " values into " +
                                 (hasStar ? "at least " : "") + std::to_string(wanted)
                           : "cannot unpack a " + kindText(value));
  size_t next = 0;
  for (const ast::ExprPtr &part : targets) {
    auto *star = llvm::dyn_cast<ast::Starred>(part.get());
    if (!matches) {
      assign(star ? *star->value : *part, Failed());
      continue;
    }
    size_t count = star ? given.size() - wanted : 1;
    llvm::ArrayRef<Value> taken = given.slice(next, count);
    next += count;
    star ? assign(*star->value, Value::tuple(std::vector<Value>(taken))) : assign(*part, taken[0]);
  }
}

void Emitter::exprStmt(const ast::ExprStmt &node) {
  const bool isMoved = expr(*node.value).isStruct(StructKind::BlockPointer);
  auto *call = llvm::dyn_cast<ast::Call>(node.value.get());
  auto *callee = call ? llvm::dyn_cast<ast::Attribute>(call->callee.get()) : nullptr;
  if (isMoved && callee && callee->attr == "advance")
    error(node.span, "the result of `advance` is not being used; assign it to a variable: the "
                     "block pointer itself does not move");
}

void Emitter::augAssign(const ast::AugAssign &node) {
  if (auto *indexed = llvm::dyn_cast<ast::Subscript>(node.target.get()))
    return augAssignIndexed(node, *indexed);
  if (!llvm::isa<ast::Name, ast::Attribute>(node.target.get()))
    return assign(*node.target, Failed());
  Mark beforeOld = mark();
  Value old = expr(*node.target);
  Mark before = mark();
  Value operand = expr(*node.value);
  Value result = node.op == ast::BinaryOp::Add
                     ? addOrAccumulate(old, beforeOld, operand, before, node.span)
                     : binaryOf(node.op, old, *node.target, operand, *node.value, node.span);
  assign(*node.target, stored(result, node.span));
}

/// The same declaration may come again where a loop is unrolled.
bool Emitter::checkNewConstexpr(const ast::Expr &target) {
  auto *name = llvm::dyn_cast<ast::Name>(&target);
  auto known = name ? frame->variables.find(name->id) : frame->variables.end();
  if (known == frame->variables.end() || known->second.assigned == target.span)
    return true;
  error(target.span,
        "`" + name->id + "` is already defined; constexpr cannot be reassigned" +
            inTriton(name->id + " is already defined. constexpr cannot be reassigned."),
        ErrorKind::Type, {{known->second.assigned, "it is defined here"}});
  return false;
}

void Emitter::annAssign(const ast::AnnAssign &node) {
  if (!node.value)
    return;
  Value value = expr(*node.value);
  if (!isConstexprAnnotation(node.annotation.get()))
    return assign(*node.target, stored(value, node.value->span));
  if (!checkNewConstexpr(*node.target))
    return;
  std::optional<Value> known = knownValue(value);
  if (known || value.failed())
    return assign(*node.target, known.value_or(Failed()));
  Place at(*this, node.annotation->span);
  mlir::emitRemark(loc()) << "this is no constexpr but an ordinary variable: its value, "
                          << kindText(value) << ", is known at run time only";
  assign(*node.target, stored(value, node.value->span));
}

void Emitter::returnStmt(const ast::Return &node) {
  Value value = node.value ? expr(*node.value) : Value(None());
  frame->flow = {Flow::Leaves, {true, false, false}, value, node.span};
}

void Emitter::innerFunction(const ast::FunctionDef &node) {
  if (!node.decorators.empty()) {
    error(node.decorators.front()->span,
          "a function inside a kernel takes no decorators; it is compiled with the kernel",
          ErrorKind::Unsupported);
    return;
  }
  assignName(node.name, closure(node), node.nameSpan);
}

void Emitter::assertStmt(const ast::Assert &node) {
  Value condition = expr(*node.test);
  Value message = node.message ? expr(*node.message) : Value(std::string());
  if (condition.failed() || message.failed())
    return;
  std::string text = constantText(message);
  if (std::optional<bool> truth = knownTruth(condition)) {
    if (!*truth)
      error(node.test->span, text.empty() ? "the assertion does not hold" : text,
            ErrorKind::Assertion);
    return;
  }
  if (!options.debug)
    return;
  if (std::optional<Runtime> flag = toBool(condition, node.test->span))
    AssertOp::create(b, loc(), flag->ir, text.empty() ? "assertion failed" : text);
}
