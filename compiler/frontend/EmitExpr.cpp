//===- EmitExpr.cpp - expressions but calls and attributes ------------------------------===//
// Gives: the Value of each kind of expression node.
// How:   One function per kind; operators continue in EmitArith and EmitCompare.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/FormatText.h"

using namespace pantile;
using ast::Expr;
using llvm::dyn_cast;

Value Emitter::expr(const Expr &node) {
  Place at(*this, node.span);
  if (isTooMuch(node.span))
    return Failed();
  switch (node.kind) {
  case Expr::Kind::Name:
    return evalName(*llvm::cast<ast::Name>(&node));
  case Expr::Kind::Constant:
    return evalConstant(*llvm::cast<ast::Constant>(&node));
  case Expr::Kind::FString:
    return evalFString(*llvm::cast<ast::FString>(&node));
  case Expr::Kind::Unary: {
    auto *operation = llvm::cast<ast::Unary>(&node);
    return unary(operation->op, expr(*operation->operand), node.span);
  }
  case Expr::Kind::Binary:
    return evalBinary(*llvm::cast<ast::Binary>(&node));
  case Expr::Kind::BoolOp:
    return evalBoolOp(*llvm::cast<ast::BoolOp>(&node));
  case Expr::Kind::Compare:
    return evalCompare(*llvm::cast<ast::Compare>(&node));
  case Expr::Kind::Call:
    return evalCall(*llvm::cast<ast::Call>(&node));
  case Expr::Kind::Attribute: {
    auto *access = llvm::cast<ast::Attribute>(&node);
    auto *root = dyn_cast<ast::Name>(access->value.get());
    std::string dotted = root ? root->id + "." + access->attr : "";
    if (root && !frame->variables.contains(root->id) &&
        frame->function->source->globals.contains(dotted))
      return lookUp(dotted, node.span);
    return attribute(expr(*access->value), access->attr, access->attrSpan);
  }
  case Expr::Kind::Subscript:
    return evalSubscript(*llvm::cast<ast::Subscript>(&node));
  case Expr::Kind::Slice:
    return evalSlice(*llvm::cast<ast::Slice>(&node));
  case Expr::Kind::Tuple:
    return evalElements(llvm::cast<ast::Tuple>(&node)->elements);
  case Expr::Kind::List:
    return evalElements(llvm::cast<ast::List>(&node)->elements);
  case Expr::Kind::IfExp:
    return ternary(*llvm::cast<ast::IfExp>(&node));
  case Expr::Kind::Comprehension:
    return evalComprehension(*llvm::cast<ast::Comprehension>(&node));
  case Expr::Kind::Starred:
    return error(node.span, "`*` is supported in call arguments only", ErrorKind::Unsupported);
  case Expr::Kind::Lambda:
    return closure(*llvm::cast<ast::Lambda>(&node)->function);
  case Expr::Kind::Unsupported: {
    const std::string &construct = llvm::cast<ast::UnsupportedExpr>(&node)->construct;
    return error(node.span, construct + " is not supported in a kernel" + insteadOf(construct),
                 ErrorKind::Unsupported);
  }
  }
  llvm_unreachable("every kind of expression is above");
}

Value Emitter::evalName(const ast::Name &name) { return lookUp(name.id, name.span); }

Value Emitter::evalConstant(const ast::Constant &constant) {
  struct Visitor {
    Value operator()(ast::NoneValue) const { return None(); }
    Value operator()(bool flag) const { return flag; }
    Value operator()(int64_t integer) const { return BigInt(integer); }
    Value operator()(uint64_t integer) const { return BigInt(integer); }
    Value operator()(double real) const { return real; }
    Value operator()(std::complex<double> value) const { return complexValue(value); }
    Value operator()(const std::string &text) const { return text; }
    Value operator()(ast::EllipsisValue) const { return ClassValue{"ellipsis"}; }
  };
  return std::visit(Visitor(), constant.value);
}

Value Emitter::evalFString(const ast::FString &fstring) {
  std::string text;
  for (const ast::FStringPart &part : fstring.parts) {
    if (!part.value) {
      text += part.literal;
      continue;
    }
    Value value = expr(*part.value);
    std::optional<Value> known = knownValue(value);
    if (!known)
      return value.failed()
                 ? value
                 : error(part.value->span,
                         "an f-string takes compile-time values, got " + kindText(value));
    if (part.conversion)
      known = constantText(*known, part.conversion != 's');
    Value spec = part.formatSpec ? expr(*part.formatSpec) : Value(std::string());
    if (spec.failed())
      return spec;
    Folded formatted = formatText(*known, spec.as<std::string>());
    if (!formatted.error.empty())
      return error(part.value->span, formatted.error);
    text += formatted.value.as<std::string>();
  }
  return text;
}

bool Emitter::Mark::isBefore(mlir::Operation *op) const {
  return op->getBlock() == block && (!last || last->isBeforeInBlock(op));
}

Emitter::Mark Emitter::mark() {
  mlir::Block *block = b.getInsertionBlock();
  return {block, block->empty() ? nullptr : &block->back()};
}

namespace {
bool isZero(mlir::Value tile) {
  auto splat = tile.getDefiningOp<SplatOp>();
  auto constant = splat ? splat.getSrc().getDefiningOp<mlir::arith::ConstantOp>() : nullptr;
  if (!constant)
    return false;
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(constant.getValue()))
    return real.getValue().isZero();
  return mlir::cast<mlir::IntegerAttr>(constant.getValue()).getValue().isZero();
}

/// The dot that `added` is, if it can take `sum` as its accumulator.
DotOp dotOnto(const Value &sum, const Value &added) {
  auto *acc = sum.dynAs<Runtime>();
  auto *result = added.dynAs<Runtime>();
  if (!acc || !result || acc->type != result->type || !result->ir.use_empty())
    return nullptr;
  auto dot = result->ir.getDefiningOp<DotOp>();
  return dot && isZero(dot.getAcc()) ? dot : nullptr;
}

/// The dots of one part of a complex dot, last first, if they can take `sum` as accumulator.
llvm::SmallVector<DotOp, 2> dotsOnto(const Value &sum, const Value &added) {
  llvm::SmallVector<DotOp, 2> dots;
  auto *acc = sum.dynAs<Runtime>();
  auto *result = added.dynAs<Runtime>();
  if (!acc || !result || acc->type != result->type || !result->ir.use_empty())
    return dots;
  for (auto dot = result->ir.getDefiningOp<DotOp>(); dot;
       dot = dot.getAcc().getDefiningOp<DotOp>()) {
    dots.push_back(dot);
    if (isZero(dot.getAcc()))
      return dots;
    if (!dot.getAcc().hasOneUse())
      break;
  }
  return {};
}
} // namespace

/// The same for complex ones; nothing if a part cannot take it.
std::optional<Value> Emitter::accumulateComplex(const Value &sum, const Value &added, Mark before) {
  if (!sum.isComplex() || !added.isComplex())
    return std::nullopt;
  llvm::SmallVector<DotOp, 2> dots[2];
  for (size_t part : {0, 1}) {
    dots[part] = dotsOnto(sum.elements()[part], added.elements()[part]);
    if (dots[part].empty() ||
        !llvm::all_of(dots[part], [&](DotOp dot) { return before.isBefore(dot); }))
      return std::nullopt;
  }
  if (dots[0].front() == dots[1].front())
    return std::nullopt; // both parts are one dot, which has one accumulator only
  for (size_t part : {0, 1}) {
    for (DotOp dot : llvm::reverse(dots[part]))
      dot->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    dots[part].back().getAccMutable().assign(sum.elements()[part].as<Runtime>().ir);
  }
  return added;
}

Value Emitter::addOrAccumulate(const Value &lhs, Mark beforeLhs, const Value &rhs, Mark beforeRhs,
                               SourceSpan span) {
  for (auto [sum, added, before] : {std::tuple{&lhs, &rhs, beforeRhs}, {&rhs, &lhs, beforeLhs}}) {
    if (auto accumulated = accumulateComplex(*sum, *added, before))
      return *accumulated;
    DotOp dot = dotOnto(*sum, *added);
    if (!dot || !before.isBefore(dot))
      continue;
    dot->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    dot.getAccMutable().assign(sum->as<Runtime>().ir);
    return *added;
  }
  return binary(ast::BinaryOp::Add, lhs, rhs, span);
}

Value Emitter::evalBinary(const ast::Binary &node) {
  Mark beforeLhs = mark();
  Value lhs = expr(*node.lhs);
  Mark beforeRhs = mark();
  Value rhs = expr(*node.rhs);
  if (node.op == ast::BinaryOp::Add)
    return addOrAccumulate(lhs, beforeLhs, rhs, beforeRhs, node.span);
  return binaryOf(node.op, lhs, *node.lhs, rhs, *node.rhs, node.span);
}

Value Emitter::evalBoolOp(const ast::BoolOp &node) {
  Value result = expr(*node.operands[0]);
  for (size_t i = 1; i < node.operands.size(); ++i) {
    if (result.failed())
      return result;
    if (std::optional<bool> truth = knownTruth(result)) {
      if (*truth != node.isAnd)
        return result;
      result = expr(*node.operands[i]);
      continue;
    }
    Value next = expr(*node.operands[i]);
    if (next.failed())
      return next;
    result = logical(node.isAnd, result, next, node.span);
  }
  return result;
}

Value Emitter::evalCompare(const ast::Compare &node) {
  Value lhs = expr(*node.first), result;
  for (size_t i = 0; i < node.ops.size(); ++i) {
    Value rhs = expr(*node.rest[i]);
    const ast::Expr &left = i == 0 ? *node.first : *node.rest[i - 1];
    Value part =
        compare(node.ops[i], lhs, rhs,
                lhs.isComplex() || rhs.isComplex() ? left.span.to(node.rest[i]->span) : node.span);
    if (part.failed())
      return part;
    if (i == 0)
      result = part;
    else if (auto truth = constantTruth(result))
      result = *truth ? part : result;
    else
      result = logical(true, result, part, node.span);
    lhs = rhs;
  }
  return result;
}

Value Emitter::evalSlice(const ast::Slice &node) {
  auto part = [&](const ast::ExprPtr &bound) {
    return bound ? std::make_shared<const Value>(expr(*bound)) : nullptr;
  };
  return SliceValue{part(node.lower), part(node.upper), part(node.step)};
}

Value Emitter::evalElements(llvm::ArrayRef<ast::ExprPtr> elements) {
  std::vector<Value> values;
  bool failed = false;
  for (const ast::ExprPtr &element : elements) {
    if (auto *starred = dyn_cast<ast::Starred>(element.get())) {
      Value inner = expr(*starred->value);
      if (inner.isTuple())
        values.insert(values.end(), inner.elements().begin(), inner.elements().end());
      else
        failed |= inner.failed() ||
                  error(starred->span, "`*` takes a tuple, got " + kindText(inner)).failed();
      continue;
    }
    values.push_back(expr(*element));
    failed |= values.back().failed();
  }
  return failed ? Value(Failed()) : Value::tuple(std::move(values));
}

/// Runs the clauses from number `clause` on; false after an error.
bool Emitter::comprehend(const ast::Comprehension &node, size_t clause,
                         std::vector<Value> &results) {
  constexpr size_t maxResults = 1 << 16;
  if (clause == node.clauses.size()) {
    results.push_back(expr(*node.element));
    if (results.size() > maxResults)
      return !error(node.span, "the comprehension has too many elements").failed();
    return !results.back().failed();
  }
  const ast::CompFor &part = node.clauses[clause];
  auto items = itemsOf(expr(*part.iter), part.iter->span, "a comprehension");
  if (!items)
    return false;
  for (const Value &item : *items) {
    if (isTooMuch(node.span))
      return false;
    assign(*part.target, item);
    bool keep = true;
    for (const ast::ExprPtr &condition : part.conditions) {
      auto truth = needBool(expr(*condition), condition->span, "the condition of a comprehension");
      if (!truth)
        return false;
      keep &= *truth;
    }
    if (keep && !comprehend(node, clause + 1, results))
      return false;
  }
  return true;
}

/// A generator, too, is evaluated where it is written: the difference cannot be observed.
Value Emitter::evalComprehension(const ast::Comprehension &node) {
  Variables saved = frame->variables;
  std::vector<Value> results;
  bool succeeded = comprehend(node, 0, results);
  frame->variables = std::move(saved);
  return succeeded ? Value::tuple(std::move(results)) : Value(Failed());
}
