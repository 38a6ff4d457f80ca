//===- ParserTest.cpp - trees, spans, and what is reported ------------------------------===//
// The expected trees are those of CPython's `ast`.
//===------------------------------------------------------------------------------------===//
#include "frontend/Parser.h"
#include "frontend/AstPrinter.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/ADT/TypeSwitch.h>

using namespace pantile;
using testing::ElementsAre;

namespace {

std::string shape(const ast::Expr &expr);

std::string list(const char *head, const std::vector<ast::ExprPtr> &items) {
  std::string text = std::string("(") + head;
  for (const ast::ExprPtr &item : items)
    text += " " + shape(*item);
  return text + ")";
}

std::string orDash(const ast::ExprPtr &expr) { return expr ? shape(*expr) : "-"; }

std::string callShape(const ast::Call &call) {
  std::string text = "(call " + shape(*call.callee);
  for (const ast::ExprPtr &arg : call.args)
    text += " " + shape(*arg);
  for (const ast::Keyword &keyword : call.keywords)
    text += " " + (keyword.name.empty() ? "**" : keyword.name + "=") + shape(*keyword.value);
  return text + ")";
}

std::string compareShape(const ast::Compare &compare) {
  std::string text = "(" + shape(*compare.first);
  for (size_t i = 0; i < compare.ops.size(); ++i)
    text += std::string(" ") + spelling(compare.ops[i]) + " " + shape(*compare.rest[i]);
  return text + ")";
}

/// A tree in brackets, operators first: "(+ a (* b c))".
std::string shape(const ast::Expr &expr) {
  return llvm::TypeSwitch<const ast::Expr *, std::string>(&expr)
      .Case([](const ast::Name *e) { return e->id; })
      .Case([](const ast::Constant *e) {
        const auto *number = std::get_if<int64_t>(&e->value);
        return number ? std::to_string(*number) : "lit";
      })
      .Case([](const ast::Unary *e) {
        return std::string("(") + spelling(e->op) + " " + shape(*e->operand) + ")";
      })
      .Case([](const ast::Binary *e) {
        return std::string("(") + spelling(e->op) + " " + shape(*e->lhs) + " " + shape(*e->rhs) +
               ")";
      })
      .Case([](const ast::BoolOp *e) { return list(e->isAnd ? "and" : "or", e->operands); })
      .Case([](const ast::Compare *e) { return compareShape(*e); })
      .Case([](const ast::Call *e) { return callShape(*e); })
      .Case([](const ast::Attribute *e) { return shape(*e->value) + "." + e->attr; })
      .Case([](const ast::Subscript *e) { return shape(*e->value) + "[" + shape(*e->index) + "]"; })
      .Case([](const ast::Slice *e) {
        return orDash(e->lower) + ":" + orDash(e->upper) + ":" + orDash(e->step);
      })
      .Case([](const ast::Tuple *e) { return list("tuple", e->elements); })
      .Case([](const ast::List *e) { return list("list", e->elements); })
      .Case([](const ast::Starred *e) { return "*" + shape(*e->value); })
      .Case([](const ast::IfExp *e) {
        return "(if " + shape(*e->test) + " " + shape(*e->body) + " " + shape(*e->orelse) + ")";
      })
      .Case([](const ast::Lambda *e) { return "(lambda " + shape(e->body()) + ")"; })
      .Case([](const ast::Comprehension *e) { return "(for " + shape(*e->element) + ")"; })
      .Case([](const ast::UnsupportedExpr *e) { return "<" + e->construct + ">"; })
      .Default([](const ast::Expr *) { return "?"; });
}

std::string parsed(std::string text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const auto expr = parseExpression(sources, sources.addBuffer("e", std::move(text)), diagnostics);
  return expr ? shape(*expr) : diagnostics.diagnostics().front().message;
}

struct Parsed {
  SourceManager sources;
  std::unique_ptr<ast::FunctionDef> function;
  std::vector<std::string> errors; ///< "line:column message"
  std::string rendered;
};

Parsed parse(std::string text) {
  Parsed result;
  const BufferId buffer = result.sources.addBuffer("k.py", std::move(text));
  DiagnosticEngine diagnostics(result.sources);
  result.function = parseFunction(result.sources, buffer, diagnostics);
  for (const Diagnostic &diagnostic : diagnostics.diagnostics()) {
    const SourceRange range = result.sources.range(diagnostic.span);
    result.errors.push_back(std::to_string(range.line) + ":" + std::to_string(range.column) + " " +
                            diagnostic.message);
  }
  result.rendered = diagnostics.render();
  return result;
}

std::vector<std::string> errorsOf(const std::string &text) { return parse(text).errors; }
/// The errors of a function with this one line.
std::vector<std::string> errorsIn(const std::string &line) {
  return errorsOf("def f():\n" + line + "\n");
}

} // namespace

TEST(ParserExpr, BinaryOperatorsBindAsInPython) {
  EXPECT_EQ(parsed("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(parsed("a | b ^ c & d << e + f % g"), "(| a (^ b (& c (<< d (+ e (% f g))))))");
  EXPECT_EQ(parsed("a // b / c @ d"), "(@ (/ (// a b) c) d)");
  EXPECT_EQ(parsed("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(parsed("a - b - c"), "(- (- a b) c)");
}

TEST(ParserExpr, PowerBindsRightAndTighterThanASignBeforeIt) {
  EXPECT_EQ(parsed("-a ** -b ** c"), "(- (** a (- (** b c))))");
  EXPECT_EQ(parsed("~a.b[0]"), "(~ a.b[0])");
  EXPECT_EQ(parsed("- - +a"), "(- (- (+ a)))");
}

TEST(ParserExpr, ComparisonsChain) {
  EXPECT_EQ(parsed("a < b <= c != d"), "(a < b <= c != d)");
  EXPECT_EQ(parsed("a is not None and b not in c"), "(and (a is not lit) (b not in c))");
  EXPECT_EQ(parsed("not a == b"), "(not (a == b))");
  EXPECT_EQ(parsed("a is b is c"), "(a is b is c)");
}

TEST(ParserExpr, LogicAndTernary) {
  EXPECT_EQ(parsed("a or b and not c or d"), "(or a (and b (not c)) d)");
  EXPECT_EQ(parsed("a if b else c if d else e"), "(if b a (if d c e))");
  EXPECT_EQ(parsed("lambda x, *y, z=1: x if y else z"), "(lambda (if y x z))");
}

TEST(ParserExpr, MasksOfKernels) {
  EXPECT_EQ(parsed("(m[:, None] < M) & (n[None, :] < N)"),
            "(& (m[(tuple -:-:- lit)] < M) (n[(tuple lit -:-:-)] < N))");
  EXPECT_EQ(parsed("tl.load(p, mask=k < K - i, other=0.0)"),
            "(call tl.load p mask=(k < (- K i)) other=lit)");
}

TEST(ParserExpr, Subscripts) {
  EXPECT_EQ(parsed("a[1:2:3]"), "a[1:2:3]");
  EXPECT_EQ(parsed("a[::b]"), "a[-:-:b]");
  EXPECT_EQ(parsed("a[b,]"), "a[(tuple b)]");
  EXPECT_EQ(parsed("a[..., 1:]"), "a[(tuple lit 1:-:-)]");
  EXPECT_EQ(parsed("a[*b]"), "a[(tuple *b)]");
}

TEST(ParserExpr, CallsTuplesAndLists) {
  EXPECT_EQ(parsed("f(a, *b, c=1, **d)"), "(call f a *b c=1 **d)");
  EXPECT_EQ(parsed("f(*a or b, *c if d else e)"), "(call f *(or a b) *(if d c e))");
  EXPECT_EQ(parsed("f(x for x in y)"), "(call f (for x))");
  EXPECT_EQ(parsed("()"), "(tuple)");
  EXPECT_EQ(parsed("(a,)"), "(tuple a)");
  EXPECT_EQ(parsed("((a, b), c)"), "(tuple (tuple a b) c)");
  EXPECT_EQ(parsed("a, *b"), "(tuple a *b)");
  EXPECT_EQ(parsed("[a, b, ]"), "(list a b)");
  EXPECT_EQ(parsed("[x for x in y if x]"), "(for x)");
}

TEST(ParserExpr, WhatKernelsHaveNotIsNamed) {
  EXPECT_EQ(parsed("{a: b, **c}"), "<a dictionary>");
  EXPECT_EQ(parsed("{}"), "<a dictionary>");
  EXPECT_EQ(parsed("{a, b}"), "<a set>");
  EXPECT_EQ(parsed("{a: b for a in c}"), "<a dictionary comprehension>");
  EXPECT_EQ(parsed("(a := b)"), "<`:=`>");
  EXPECT_EQ(parsed("(yield a)"), "<`yield`>");
  EXPECT_EQ(parsed("await a"), "<`await`>");
  EXPECT_EQ(parsed("b'a'"), "<a bytes string>");
}

TEST(ParserExpr, FStrings) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const BufferId buffer = sources.addBuffer("e", R"('a' f'b{x + 1!r:>{w}}c{y=}')");
  const auto expr = parseExpression(sources, buffer, diagnostics);
  ASSERT_TRUE(expr) << diagnostics.render();
  const auto &parts = llvm::cast<ast::FString>(*expr).parts;
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].literal, "ab");
  EXPECT_EQ(shape(*parts[1].value), "(+ x 1)");
  EXPECT_EQ(parts[1].conversion, 'r');
  EXPECT_TRUE(llvm::isa<ast::FString>(*parts[1].formatSpec));
  EXPECT_EQ(parts[2].literal, "cy=");
  EXPECT_EQ(parts[3].conversion, 'r');
}

TEST(ParserExpr, Refused) {
  EXPECT_EQ(parsed("a +"), "expected an expression, found the end of the expression");
  EXPECT_EQ(parsed("a b"), "expected the end of the expression, found `b`");
  EXPECT_EQ(parsed("f(a b)"), "expected `,` or `)`, found `b`");
  EXPECT_EQ(parsed("f(a=1, b)"), "a positional argument cannot follow a keyword argument");
  EXPECT_EQ(parsed("f(a=1, a=2)"), "keyword argument `a` is given twice");
  EXPECT_EQ(parsed("f(a.b=1)"),
            "only a plain name can stand before `=` in a call; a comparison is `==`");
  EXPECT_EQ(parsed("a if b"), "expected `else` after the condition of a conditional expression, "
                              "found the end of the expression");
  EXPECT_EQ(parsed("a[]"), "expected an index in `[]`");
  EXPECT_EQ(parsed("a."), "expected a name after `.`, found the end of the expression");
  EXPECT_EQ(parsed("f'{a b}'"), "expected the end of the expression, found `b`");
}

TEST(ParserExpr, DepthIsLimited) {
  const std::string message = "this expression nests too deeply";
  EXPECT_EQ(parsed(std::string(5000, '(') + "a" + std::string(5000, ')')), message);
  EXPECT_EQ(parsed(std::string(100000, '-') + "a"), message);
  std::string chain = "a";
  for (int i = 0; i < 5000; ++i)
    chain += "+a";
  EXPECT_EQ(parsed(chain), message);
  EXPECT_EQ(parsed(std::string(150, '(') + "a" + std::string(150, ')')), "a");
}

TEST(Parser, PrintsTheTreeWithSpans) {
  const Parsed result = parse("@triton.jit\n"
                              "def f(x_ptr, n: tl.constexpr = 4, *args):\n"
                              "    \"\"\"doc\"\"\"\n"
                              "    for i in range(n):\n"
                              "        x_ptr += 1\n"
                              "    if n > 2:\n"
                              "        return -1\n"
                              "    elif n:\n"
                              "        pass\n");
  ASSERT_TRUE(result.function) << result.rendered;
  EXPECT_EQ(printAst(result.sources, *result.function), R"(FunctionDef f 1:1-9:13
  decorator: Attribute jit 1:2-1:12
    Name triton 1:2-1:8
  Param x_ptr 2:7-2:12
  Param n 2:14-2:33
    annotation: Attribute constexpr 2:17-2:29
      Name tl 2:17-2:19
    default: Constant 4 2:32-2:33
  Param *args 2:35-2:40
  docstring: "doc"
  For 4:5-5:19
    target: Name i 4:9-4:10
    iter: Call 4:14-4:22
      callee: Name range 4:14-4:19
      Name n 4:20-4:21
    body
      AugAssign + 5:9-5:19
        target: Name x_ptr 5:9-5:14
        value: Constant 1 5:18-5:19
  If 6:5-9:13
    test: Compare > 6:8-6:13
      Name n 6:8-6:9
      Constant 2 6:12-6:13
    then
      Return 7:9-7:18
        Unary - 7:16-7:18
          Constant 1 7:17-7:18
    else
      Elif 8:5-9:13
        test: Name n 8:10-8:11
        then
          Pass 9:9-9:13
)");
}

TEST(Parser, AssignmentsAndTargets) {
  const Parsed result = parse("def f():\n"
                              "    a = b, (c, *d) = e\n"
                              "    x: tl.constexpr = 3\n"
                              "    y.z[0] //= 2; pass\n");
  ASSERT_TRUE(result.function) << result.rendered;
  const ast::Block &body = result.function->body;
  ASSERT_EQ(body.size(), 4u);
  const auto &assign = llvm::cast<ast::Assign>(*body[0]);
  ASSERT_EQ(assign.targets.size(), 2u);
  EXPECT_EQ(shape(*assign.targets[1]), "(tuple b (tuple c *d))");
  EXPECT_EQ(shape(*llvm::cast<ast::AnnAssign>(*body[1]).annotation), "tl.constexpr");
  EXPECT_EQ(llvm::cast<ast::AugAssign>(*body[2]).op, ast::BinaryOp::FloorDiv);
  EXPECT_TRUE(llvm::isa<ast::Pass>(*body[3]));
}

TEST(Parser, ParameterKinds) {
  const Parsed result = parse("def f(a, b=1, /, c=2, *, d, e=3, **g) -> int: pass");
  ASSERT_TRUE(result.function) << result.rendered;
  const auto &params = result.function->params;
  ASSERT_EQ(params.size(), 6u);
  EXPECT_TRUE(params[1].positionalOnly);
  EXPECT_FALSE(params[2].positionalOnly);
  EXPECT_FALSE(params[2].keywordOnly);
  EXPECT_TRUE(params[3].keywordOnly);
  EXPECT_EQ(params[5].star, ast::StarKind::Kwargs);
  EXPECT_EQ(shape(*result.function->returns), "int");
}

TEST(Parser, StatementsThatKernelsHaveNotAreNodes) {
  const Parsed result = parse("def f():\n"
                              "    import a.b as c, d\n"
                              "    try:\n        x = 1\n    except (A, B) as e:\n        pass\n"
                              "    finally:\n        y = 2\n"
                              "    class C(D): z = 3\n"
                              "    def g(): pass\n"
                              "    global h, i\n"
                              "    raise J from k\n"
                              "    del l\n"
                              "    async with m as n: pass\n"
                              "    match o:\n        case {'p': [q, *_]} if q: pass\n"
                              "    type = match(case)\n");
  ASSERT_TRUE(result.function) << result.rendered;
  std::vector<std::string> constructs;
  for (const ast::StmtPtr &stmt : result.function->body)
    if (const auto *unsupported = llvm::dyn_cast<ast::UnsupportedStmt>(stmt.get()))
      constructs.push_back(unsupported->construct);
  EXPECT_THAT(constructs, ElementsAre("`import`", "`try`", "`class`", "`global`", "`raise`",
                                      "`del`", "`async`", "`match`"));
  const auto &import = llvm::cast<ast::UnsupportedStmt>(*result.function->body[0]).imports;
  EXPECT_EQ(import[0].module, "a.b");
  EXPECT_EQ(import[0].alias, "c");
  EXPECT_EQ(llvm::cast<ast::UnsupportedStmt>(*result.function->body[1]).body.size(), 3u);
}

TEST(Parser, WithItems) {
  const Parsed result = parse("def f():\n"
                              "    with a, b as c: pass\n"
                              "    with (d as e, f,): pass\n"
                              "    with (g, h).i: pass\n");
  ASSERT_TRUE(result.function) << result.rendered;
  std::vector<size_t> counts;
  for (const ast::StmtPtr &stmt : result.function->body)
    counts.push_back(llvm::cast<ast::With>(*stmt).items.size());
  EXPECT_THAT(counts, ElementsAre(2, 2, 1));
}

TEST(ParserErrors, SeveralInOneRun) {
  EXPECT_THAT(errorsOf("def f(x):\n"
                       "    a = = 1\n"
                       "    if x = 2:\n"
                       "        b = )\n"
                       "    else:\n"
                       "        c = 3 4\n"
                       "    return f(1,\n"),
              ElementsAre("2:9 expected an expression, found `=`",
                          "3:10 `=` assigns and stands only in a statement of its own; "
                          "a comparison is `==`",
                          "4:13 `)` closes nothing", "6:15 expected the end of the line, found `4`",
                          "7:13 `(` is never closed"));
}

TEST(ParserErrors, NotesPointAtTheOtherHalf) {
  EXPECT_EQ(parse("def f(x):\n    y = g(x; 1)\n").rendered,
            "k.py:2:12: error: expected `,` or `)`, found `;`\n"
            "    y = g(x; 1)\n"
            "           ^\n"
            "k.py:2:10: note: `(` opened here\n"
            "    y = g(x; 1)\n"
            "         ^\n");
}

TEST(ParserErrors, Blocks) {
  EXPECT_THAT(errorsOf("def f():\n    if a:\n    b = 1\n"),
              ElementsAre("3:5 expected an indented block after `if`, found `b`"));
  EXPECT_THAT(errorsOf("def f():\n    a = 1\n        b = 2\n"),
              ElementsAre("3:1 this line is indented more than the block it is in"));
  EXPECT_THAT(errorsIn("    for i in x\n        pass"),
              ElementsAre("2:15 expected `:` after the range of `for`, found the end of the line"));
  EXPECT_THAT(errorsIn("    else: pass"),
              ElementsAre("2:5 `else` has no statement before it that it belongs to"));
  EXPECT_THAT(errorsIn("    try: pass"),
              ElementsAre("3:1 expected `except` or `finally`, found the end of the block"));
}

TEST(ParserErrors, Targets) {
  EXPECT_THAT(errorsIn("    f() = 1"), ElementsAre("2:5 cannot assign to a call"));
  EXPECT_THAT(errorsIn("    None = 1"), ElementsAre("2:5 cannot assign to `None`"));
  EXPECT_THAT(errorsIn("    a + b = 1"), ElementsAre("2:5 cannot assign to an operation"));
  EXPECT_THAT(errorsIn("    *a, *b = c"),
              ElementsAre("2:9 a tuple of targets has at most one starred target"));
  EXPECT_THAT(errorsIn("    a, b += 1"),
              ElementsAre("2:5 an augmented assignment has a single target, not a tuple or list"));
  EXPECT_THAT(errorsIn("    for 1 in a: pass"), ElementsAre("2:9 cannot assign to a literal"));
}

TEST(ParserErrors, Parameters) {
  EXPECT_THAT(errorsOf("def f(a, a): pass"), ElementsAre("1:10 parameter `a` stands twice"));
  EXPECT_THAT(errorsOf("def f(a=1, b): pass"),
              ElementsAre("1:12 parameter `b` without a default follows one with a default"));
  EXPECT_THAT(errorsOf("def f(*): pass"),
              ElementsAre("1:7 a bare `*` needs a named parameter after it"));
  EXPECT_THAT(errorsOf("def f(**a, b): pass"), ElementsAre("1:12 nothing can follow `**a`"));
}

TEST(ParserErrors, Places) {
  EXPECT_THAT(errorsIn("    break"), ElementsAre("2:5 `break` stands outside a loop"));
  EXPECT_THAT(errorsOf("x = 1\n"), ElementsAre("1:1 expected a function that starts with `def`"));
  EXPECT_THAT(errorsOf("def f(): pass\ndef g(): pass\n"),
              ElementsAre("2:1 expected nothing after the function"));
  EXPECT_THAT(errorsOf(""), ElementsAre("1:1 expected a function that starts with `def`"));
}

TEST(ParserErrors, TheNumberIsLimited) {
  std::string text = "def f():\n";
  for (int i = 0; i < 100; ++i)
    text += "    a = =\n";
  EXPECT_EQ(errorsOf(text).size(), 20u);
}
