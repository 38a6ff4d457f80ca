//===- AstPrinter.cpp - the syntax tree as text -----------------------------------------===//
#include "frontend/AstPrinter.h"
#include "support/Utf8.h"
#include <cstdio>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/FormatVariadic.h>

namespace pantile {

using namespace ast;

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      out += llvm::formatv("\\x{0:x-2}", unsigned(byte)).str();
    else
      out += c;
  }
  return out + '"';
}

/// The shortest text that reads back as the same number.
std::string shortest(double value) {
  char text[32];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    double back = 0;
    if (!llvm::StringRef(text).getAsDouble(back) && back == value)
      break;
  }
  return std::string_view(text).find_first_of(".en") == std::string_view::npos
             ? text + std::string(".0")
             : text;
}

std::string literalText(const Literal &value) {
  struct Visitor {
    std::string operator()(NoneValue) const { return "None"; }
    std::string operator()(EllipsisValue) const { return "..."; }
    std::string operator()(bool b) const { return b ? "True" : "False"; }
    std::string operator()(int64_t i) const { return std::to_string(i); }
    std::string operator()(uint64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return shortest(d); }
    std::string operator()(std::complex<double> c) const { return shortest(c.imag()) + "j"; }
    std::string operator()(const std::string &s) const { return quoted(s); }
  };
  return std::visit(Visitor{}, value);
}

class Printer {
public:
  explicit Printer(const SourceManager &sources) : sources(sources) {}

  void statement(const Stmt &stmt);
  void block(const char *role, const Block &statements);
  void expr(const char *role, const ExprPtr &child) {
    if (child)
      expression(role, *child);
  }
  void expression(const char *role, const Expr &node);
  std::string text;

private:
  /// Deeper by one as long as it lives.
  struct Nested {
    explicit Nested(Printer &printer) : printer(printer) { ++printer.level; }
    ~Nested() { --printer.level; }
    Printer &printer;
  };

  void line(const char *role, const std::string &head, SourceSpan span);
  void exprs(const char *role, const std::vector<ExprPtr> &children) {
    for (const ExprPtr &child : children)
      expr(role, child);
  }
  void function(const FunctionDef &def);
  void params(const std::vector<Param> &list);
  void compFors(const std::vector<CompFor> &clauses);
  void formatted(const FString &node);
  void children(const Expr &node);
  void children(const Stmt &stmt);
  static std::string head(const Expr &node);
  static std::string head(const Stmt &stmt);

  const SourceManager &sources;
  int level = 0;
};

void Printer::line(const char *role, const std::string &head, SourceSpan span) {
  text.append(2 * level, ' ');
  if (*role)
    (text += role) += ": ";
  text += head;
  if (span.isValid()) {
    const SourceRange range = sources.range(span);
    text +=
        llvm::formatv(" {0}:{1}-{2}:{3}", range.line, range.column, range.endLine, range.endColumn);
  }
  text += '\n';
}

//===- Expressions ----------------------------------------------------------------------===//

std::string Printer::head(const Expr &node) {
  return llvm::TypeSwitch<const Expr *, std::string>(&node)
      .Case([](const Name *e) { return "Name " + e->id; })
      .Case([](const Constant *e) { return "Constant " + literalText(e->value); })
      .Case([](const FString *) { return "FString"; })
      .Case([](const Unary *e) { return std::string("Unary ") + spelling(e->op); })
      .Case([](const Binary *e) { return std::string("Binary ") + spelling(e->op); })
      .Case([](const BoolOp *e) { return e->isAnd ? "BoolOp and" : "BoolOp or"; })
      .Case([](const Compare *e) {
        std::string ops = "Compare";
        for (const CompareOp op : e->ops)
          (ops += ' ') += spelling(op);
        return ops;
      })
      .Case([](const Call *) { return "Call"; })
      .Case([](const Attribute *e) { return "Attribute " + e->attr; })
      .Case([](const Subscript *) { return "Subscript"; })
      .Case([](const Slice *) { return "Slice"; })
      .Case([](const Tuple *) { return "Tuple"; })
      .Case([](const List *) { return "List"; })
      .Case([](const Starred *) { return "Starred"; })
      .Case([](const IfExp *) { return "IfExp"; })
      .Case([](const Lambda *) { return "Lambda"; })
      .Case([](const Comprehension *e) { return e->isGenerator ? "Generator" : "Comprehension"; })
      .Case([](const UnsupportedExpr *e) { return "Unsupported " + e->construct; });
}

void Printer::expression(const char *role, const Expr &node) {
  line(role, head(node), node.span);
  const Nested nested(*this);
  children(node);
}

void Printer::children(const Expr &node) {
  llvm::TypeSwitch<const Expr *>(&node)
      .Case([&](const FString *e) { formatted(*e); })
      .Case([&](const Call *e) {
        expr("callee", e->callee);
        exprs("", e->args);
        for (const Keyword &keyword : e->keywords)
          expr(keyword.name.empty() ? "**" : keyword.name.c_str(), keyword.value);
      })
      .Case([&](const Slice *e) {
        expr("lower", e->lower);
        expr("upper", e->upper);
        expr("step", e->step);
      })
      .Case([&](const IfExp *e) {
        expr("test", e->test);
        expr("then", e->body);
        expr("else", e->orelse);
      })
      .Case([&](const Lambda *e) {
        params(e->function->params);
        expression("body", e->body());
      })
      .Case([&](const Comprehension *e) {
        expr("element", e->element);
        compFors(e->clauses);
      })
      .Default([&](const Expr *e) {
        forEachChild(*e, [&](const Expr &child) { expression("", child); });
      });
}

void Printer::compFors(const std::vector<CompFor> &clauses) {
  for (const CompFor &clause : clauses) {
    expr("for", clause.target);
    expr("in", clause.iter);
    exprs("if", clause.conditions);
  }
}

void Printer::formatted(const FString &node) {
  for (const FStringPart &part : node.parts) {
    if (!part.value) {
      line("text", quoted(part.literal), {});
      continue;
    }
    const std::string role = part.conversion ? std::string("field !") + part.conversion : "field";
    expr(role.c_str(), part.value);
    const Nested nested(*this);
    if (const auto *spec = llvm::dyn_cast_or_null<Constant>(part.formatSpec.get()))
      line("spec", literalText(spec->value), {});
    else if (part.formatSpec)
      formatted(llvm::cast<FString>(*part.formatSpec));
  }
}

//===- Statements -----------------------------------------------------------------------===//

void Printer::params(const std::vector<Param> &list) {
  for (const Param &param : list) {
    const char *stars[] = {"", "*", "**"};
    line("", std::string("Param ") + stars[static_cast<int>(param.star)] + param.name, param.span);
    const Nested nested(*this);
    expr("annotation", param.annotation);
    expr("default", param.defaultValue);
  }
}

void Printer::function(const FunctionDef &def) {
  exprs("decorator", def.decorators);
  params(def.params);
  expr("returns", def.returns);
  if (def.hasDocstring)
    line("docstring", quoted(def.docstring), {});
  block("", def.body);
}

void Printer::block(const char *role, const Block &statements) {
  if (statements.empty())
    return;
  if (*role) {
    line("", role, {});
    ++level;
  }
  for (const StmtPtr &stmt : statements)
    statement(*stmt);
  level -= *role != 0;
}

std::string Printer::head(const Stmt &stmt) {
  return llvm::TypeSwitch<const Stmt *, std::string>(&stmt)
      .Case([](const ExprStmt *) { return "Expr"; })
      .Case([](const Assign *) { return "Assign"; })
      .Case([](const AugAssign *s) { return std::string("AugAssign ") + spelling(s->op); })
      .Case([](const AnnAssign *) { return "AnnAssign"; })
      .Case([](const If *s) { return s->isElif ? "Elif" : "If"; })
      .Case([](const For *) { return "For"; })
      .Case([](const While *) { return "While"; })
      .Case([](const With *) { return "With"; })
      .Case([](const Return *) { return "Return"; })
      .Case([](const Assert *) { return "Assert"; })
      .Case([](const Pass *) { return "Pass"; })
      .Case([](const Break *) { return "Break"; })
      .Case([](const Continue *) { return "Continue"; })
      .Case([](const FunctionDef *s) { return "FunctionDef " + s->name; })
      .Case([](const UnsupportedStmt *s) { return "Unsupported " + s->construct; });
}

void Printer::statement(const Stmt &stmt) {
  line("", head(stmt), stmt.span);
  const Nested nested(*this);
  children(stmt);
}

void Printer::children(const Stmt &stmt) {
  llvm::TypeSwitch<const Stmt *>(&stmt)
      .Case([&](const ExprStmt *s) { expr("", s->value); })
      .Case([&](const Assign *s) {
        exprs("target", s->targets);
        expr("value", s->value);
      })
      .Case([&](const AugAssign *s) {
        expr("target", s->target);
        expr("value", s->value);
      })
      .Case([&](const AnnAssign *s) {
        expr("target", s->target);
        expr("annotation", s->annotation);
        expr("value", s->value);
      })
      .Case([&](const If *s) {
        expr("test", s->test);
        block("then", s->body);
        block("else", s->orelse);
      })
      .Case([&](const For *s) {
        expr("target", s->target);
        expr("iter", s->iter);
        block("body", s->body);
        block("else", s->orelse);
      })
      .Case([&](const While *s) {
        expr("test", s->test);
        block("body", s->body);
        block("else", s->orelse);
      })
      .Case([&](const With *s) {
        for (const WithItem &item : s->items) {
          expr("context", item.context);
          expr("as", item.target);
        }
        block("body", s->body);
      })
      .Case([&](const Return *s) { expr("", s->value); })
      .Case([&](const Assert *s) {
        expr("test", s->test);
        expr("message", s->message);
      })
      .Case([&](const FunctionDef *s) { function(*s); })
      .Case([&](const UnsupportedStmt *s) { block("", s->body); })
      .Default([](const Stmt *) {});
}

} // namespace

std::string printAst(const SourceManager &sources, const FunctionDef &function) {
  Printer printer(sources);
  printer.statement(function);
  return std::move(printer.text);
}

std::string printAst(const SourceManager &sources, const Module &module) {
  Printer printer(sources);
  printer.block("", module.body);
  return std::move(printer.text);
}

std::string printAst(const SourceManager &sources, const Expr &expr) {
  Printer printer(sources);
  printer.expression("", expr);
  return std::move(printer.text);
}

} // namespace pantile
