//===- Ast.cpp - walking the syntax tree ------------------------------------------------===//
#include "frontend/Ast.h"
#include <llvm/ADT/TypeSwitch.h>

namespace pantile::ast {

namespace {
using Visit = llvm::function_ref<void(const Expr &)>;

void each(const ExprPtr &child, Visit visit) {
  if (child)
    visit(*child);
}
void each(const std::vector<ExprPtr> &children, Visit visit) {
  for (const ExprPtr &child : children)
    each(child, visit);
}
void each(const std::vector<Param> &params, Visit visit) {
  for (const Param &param : params) {
    each(param.annotation, visit);
    each(param.defaultValue, visit);
  }
}
} // namespace

void forEachChild(const Expr &expr, Visit visit) {
  llvm::TypeSwitch<const Expr *>(&expr)
      .Case([&](const FString *e) {
        for (const FStringPart &part : e->parts) {
          each(part.value, visit);
          each(part.formatSpec, visit);
        }
      })
      .Case([&](const Unary *e) { each(e->operand, visit); })
      .Case([&](const Binary *e) {
        each(e->lhs, visit);
        each(e->rhs, visit);
      })
      .Case([&](const BoolOp *e) { each(e->operands, visit); })
      .Case([&](const Compare *e) {
        each(e->first, visit);
        each(e->rest, visit);
      })
      .Case([&](const Call *e) {
        each(e->callee, visit);
        each(e->args, visit);
        for (const Keyword &keyword : e->keywords)
          each(keyword.value, visit);
      })
      .Case([&](const Attribute *e) { each(e->value, visit); })
      .Case([&](const Subscript *e) {
        each(e->value, visit);
        each(e->index, visit);
      })
      .Case([&](const Slice *e) {
        each(e->lower, visit);
        each(e->upper, visit);
        each(e->step, visit);
      })
      .Case([&](const Tuple *e) { each(e->elements, visit); })
      .Case([&](const List *e) { each(e->elements, visit); })
      .Case([&](const Starred *e) { each(e->value, visit); })
      .Case([&](const IfExp *e) {
        each(e->body, visit);
        each(e->test, visit);
        each(e->orelse, visit);
      })
      .Case([&](const Lambda *e) {
        each(e->function->params, visit);
        visit(e->body());
      })
      .Case([&](const Comprehension *e) {
        each(e->element, visit);
        for (const CompFor &clause : e->clauses) {
          each(clause.target, visit);
          each(clause.iter, visit);
          each(clause.conditions, visit);
        }
      })
      .Default([](const Expr *) {});
}

Lambda::Lambda(SourceSpan span) : NodeOf(span), function(std::make_unique<FunctionDef>(span)) {
  function->name = "lambda";
  function->nameSpan = span;
}
Lambda::~Lambda() = default;
const Expr &Lambda::body() const {
  return *llvm::cast<Return>(function->body.front().get())->value;
}

void forEachExpr(const Stmt &stmt, Visit visit) {
  llvm::TypeSwitch<const Stmt *>(&stmt)
      .Case([&](const ExprStmt *s) { each(s->value, visit); })
      .Case([&](const Assign *s) {
        each(s->targets, visit);
        each(s->value, visit);
      })
      .Case([&](const AugAssign *s) {
        each(s->target, visit);
        each(s->value, visit);
      })
      .Case([&](const AnnAssign *s) {
        each(s->target, visit);
        each(s->annotation, visit);
        each(s->value, visit);
      })
      .Case([&](const If *s) { each(s->test, visit); })
      .Case([&](const For *s) {
        each(s->target, visit);
        each(s->iter, visit);
      })
      .Case([&](const While *s) { each(s->test, visit); })
      .Case([&](const With *s) {
        for (const WithItem &item : s->items) {
          each(item.context, visit);
          each(item.target, visit);
        }
      })
      .Case([&](const Return *s) { each(s->value, visit); })
      .Case([&](const Assert *s) {
        each(s->test, visit);
        each(s->message, visit);
      })
      .Case([&](const FunctionDef *s) {
        each(s->decorators, visit);
        each(s->params, visit);
        each(s->returns, visit);
      })
      .Default([](const Stmt *) {});
}

void forEachBlock(const Stmt &stmt, llvm::function_ref<void(const Block &)> visit) {
  llvm::TypeSwitch<const Stmt *>(&stmt)
      .Case([&](const If *s) {
        visit(s->body);
        visit(s->orelse);
      })
      .Case([&](const For *s) {
        visit(s->body);
        visit(s->orelse);
      })
      .Case([&](const While *s) {
        visit(s->body);
        visit(s->orelse);
      })
      .Case([&](const With *s) { visit(s->body); })
      .Case([&](const FunctionDef *s) { visit(s->body); })
      .Case([&](const UnsupportedStmt *s) { visit(s->body); })
      .Default([](const Stmt *) {});
}

const char *spelling(UnaryOp op) {
  static constexpr const char *names[] = {"-", "+", "~", "not"};
  return names[static_cast<int>(op)];
}

const char *spelling(BinaryOp op) {
  static constexpr const char *names[] = {"+", "-",  "*",  "/", "//", "%", "**",
                                          "@", "<<", ">>", "&", "|",  "^"};
  return names[static_cast<int>(op)];
}

const char *spelling(CompareOp op) {
  static constexpr const char *names[] = {"==", "!=", "<",      "<=", ">",
                                          ">=", "is", "is not", "in", "not in"};
  return names[static_cast<int>(op)];
}

} // namespace pantile::ast
