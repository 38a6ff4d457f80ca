//===- Ast.h - the syntax tree of the kernel language -----------------------------------===//
// Needs: nothing; the Parser fills it.
// Gives: plain structs, each with its span. Python constructs that kernels do not have are a node
//        `Unsupported` that names the construct, so that emission can report it at its position.
// How:   Nodes own their children by unique_ptr; `kind` and llvm::isa/cast/dyn_cast distinguish
//        them. No expression is higher than maxExprHeight and no block nests deeper than
//        maxBlockDepth, so a walk may recurse.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "support/Source.h"
#include <complex>
#include <cstdint>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Casting.h>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace pantile::ast {

inline constexpr int maxExprHeight = 500;
inline constexpr int maxBlockDepth = 100;

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

//===- Expressions ----------------------------------------------------------------------===//

struct Expr {
  enum class Kind {
    Name,
    Constant,
    FString,
    Unary,
    Binary,
    BoolOp,
    Compare,
    Call,
    Attribute,
    Subscript,
    Slice,
    Tuple,
    List,
    Starred,
    IfExp,
    Lambda,
    Comprehension,
    Unsupported
  };
  const Kind kind;
  SourceSpan span;
  int height = 1; ///< nodes on the longest path to a leaf
  virtual ~Expr() = default;

protected:
  Expr(Kind kind, SourceSpan span) : kind(kind), span(span) {}
};

/// Gives each node its kind and its classof.
template <typename Base, typename Base::Kind nodeKind> struct NodeOf : Base {
  explicit NodeOf(SourceSpan span) : Base(nodeKind, span) {}
  static bool classof(const Base *node) { return node->kind == nodeKind; }
};

struct Name : NodeOf<Expr, Expr::Kind::Name> {
  using NodeOf::NodeOf;
  std::string id;
};

struct NoneValue {
  bool operator==(const NoneValue &) const = default;
};
struct EllipsisValue {
  bool operator==(const EllipsisValue &) const = default;
};
/// uint64_t only for numbers that int64_t cannot hold. Adjacent strings are one.
using Literal = std::variant<NoneValue, bool, int64_t, uint64_t, double, std::string, EllipsisValue,
                             std::complex<double>>;

struct Constant : NodeOf<Expr, Expr::Kind::Constant> {
  using NodeOf::NodeOf;
  Literal value;
};

/// `f"n = {n!r:>{w}}"`: literal parts have no value; `{n=}` puts the text `n=` into a literal part
/// before it.
struct FStringPart {
  std::string literal;
  ExprPtr value;
  char conversion = 0; ///< 'r', 's', 'a' or 0
  ExprPtr formatSpec;  ///< a Constant string or an FString, or null
};
struct FString : NodeOf<Expr, Expr::Kind::FString> {
  using NodeOf::NodeOf;
  std::vector<FStringPart> parts;
};

enum class UnaryOp { Neg, Pos, Invert, Not };
struct Unary : NodeOf<Expr, Expr::Kind::Unary> {
  using NodeOf::NodeOf;
  UnaryOp op = UnaryOp::Neg;
  ExprPtr operand;
};

enum class BinaryOp { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, MatMul, Shl, Shr, And, Or, Xor };
struct Binary : NodeOf<Expr, Expr::Kind::Binary> {
  using NodeOf::NodeOf;
  BinaryOp op = BinaryOp::Add;
  SourceSpan opSpan;
  ExprPtr lhs, rhs;
};

/// `a and b and c`: two operands or more.
struct BoolOp : NodeOf<Expr, Expr::Kind::BoolOp> {
  using NodeOf::NodeOf;
  bool isAnd = true;
  std::vector<ExprPtr> operands;
};

enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot, In, NotIn };
/// `first op0 rest0 op1 rest1 ...`; ops and rest have one length, at least 1.
struct Compare : NodeOf<Expr, Expr::Kind::Compare> {
  using NodeOf::NodeOf;
  ExprPtr first;
  std::vector<CompareOp> ops;
  std::vector<SourceSpan> opSpans;
  std::vector<ExprPtr> rest;
};

/// Positional arguments may be Starred. A keyword without a name is `**value`.
struct Keyword {
  std::string name;
  SourceSpan nameSpan;
  ExprPtr value;
};
struct Call : NodeOf<Expr, Expr::Kind::Call> {
  using NodeOf::NodeOf;
  ExprPtr callee;
  std::vector<ExprPtr> args;
  std::vector<Keyword> keywords;
};

struct Attribute : NodeOf<Expr, Expr::Kind::Attribute> {
  using NodeOf::NodeOf;
  ExprPtr value;
  std::string attr;
  SourceSpan attrSpan;
};

/// `value[index]`: the index is a Tuple if there is a comma, and its items may be Slices.
struct Subscript : NodeOf<Expr, Expr::Kind::Subscript> {
  using NodeOf::NodeOf;
  ExprPtr value, index;
};

/// `lower:upper:step`, each may be null. Only inside a Subscript.
struct Slice : NodeOf<Expr, Expr::Kind::Slice> {
  using NodeOf::NodeOf;
  ExprPtr lower, upper, step;
};

struct Tuple : NodeOf<Expr, Expr::Kind::Tuple> {
  using NodeOf::NodeOf;
  std::vector<ExprPtr> elements;
};

struct List : NodeOf<Expr, Expr::Kind::List> {
  using NodeOf::NodeOf;
  std::vector<ExprPtr> elements;
};

struct Starred : NodeOf<Expr, Expr::Kind::Starred> {
  using NodeOf::NodeOf;
  ExprPtr value;
};

struct IfExp : NodeOf<Expr, Expr::Kind::IfExp> {
  using NodeOf::NodeOf;
  ExprPtr test, body, orelse;
};

enum class StarKind { None, Args, Kwargs };
struct Param {
  SourceSpan span; ///< star, name, annotation and default
  SourceSpan nameSpan;
  std::string name;
  ExprPtr annotation, defaultValue; ///< each may be null
  StarKind star = StarKind::None;
  bool positionalOnly = false, keywordOnly = false;
};

struct FunctionDef;
/// The function is called "lambda", and its body is one Return.
struct Lambda : NodeOf<Expr, Expr::Kind::Lambda> {
  explicit Lambda(SourceSpan span);
  ~Lambda() override;
  std::unique_ptr<FunctionDef> function;
  const Expr &body() const;
};

/// One `for target in iter if c0 if c1`.
struct CompFor {
  ExprPtr target, iter;
  std::vector<ExprPtr> conditions;
};
/// A list comprehension or a generator expression; those of sets and dictionaries are Unsupported.
struct Comprehension : NodeOf<Expr, Expr::Kind::Comprehension> {
  using NodeOf::NodeOf;
  bool isGenerator = false;
  ExprPtr element;
  std::vector<CompFor> clauses;
};

/// Parsed, but not supported in a kernel. `construct` is its name in messages: "`yield`", "a
/// dictionary".
struct UnsupportedExpr : NodeOf<Expr, Expr::Kind::Unsupported> {
  using NodeOf::NodeOf;
  std::string construct;
  /// Keys and values of a dictionary, which only one operation accepts as a literal.
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};

//===- Statements -----------------------------------------------------------------------===//

/// The span of a compound statement ends with its last block.
struct Stmt {
  enum class Kind {
    Expr,
    Assign,
    AugAssign,
    AnnAssign,
    If,
    For,
    While,
    With,
    Return,
    Assert,
    Pass,
    Break,
    Continue,
    FunctionDef,
    Unsupported
  };
  const Kind kind;
  SourceSpan span;
  virtual ~Stmt() = default;

protected:
  Stmt(Kind kind, SourceSpan span) : kind(kind), span(span) {}
};

struct ExprStmt : NodeOf<Stmt, Stmt::Kind::Expr> {
  using NodeOf::NodeOf;
  ExprPtr value;
};

/// `targets[0] = targets[1] = ... = value`. A target is a Name, Attribute, Subscript, Starred, or a
/// Tuple or List of targets.
struct Assign : NodeOf<Stmt, Stmt::Kind::Assign> {
  using NodeOf::NodeOf;
  std::vector<ExprPtr> targets;
  ExprPtr value;
};

/// The target is a Name, Attribute or Subscript.
struct AugAssign : NodeOf<Stmt, Stmt::Kind::AugAssign> {
  using NodeOf::NodeOf;
  ExprPtr target;
  BinaryOp op = BinaryOp::Add;
  SourceSpan opSpan;
  ExprPtr value;
};

/// `target: annotation = value`; the value may be null.
struct AnnAssign : NodeOf<Stmt, Stmt::Kind::AnnAssign> {
  using NodeOf::NodeOf;
  ExprPtr target, annotation, value;
};

/// `elif` is an If alone in `orelse`, with `isElif`.
struct If : NodeOf<Stmt, Stmt::Kind::If> {
  using NodeOf::NodeOf;
  bool isElif = false;
  ExprPtr test;
  Block body, orelse;
};

struct For : NodeOf<Stmt, Stmt::Kind::For> {
  using NodeOf::NodeOf;
  ExprPtr target, iter;
  Block body, orelse;
};

struct While : NodeOf<Stmt, Stmt::Kind::While> {
  using NodeOf::NodeOf;
  ExprPtr test;
  Block body, orelse;
};

struct WithItem {
  ExprPtr context, target; ///< the target may be null
};
struct With : NodeOf<Stmt, Stmt::Kind::With> {
  using NodeOf::NodeOf;
  std::vector<WithItem> items;
  Block body;
};

struct Return : NodeOf<Stmt, Stmt::Kind::Return> {
  using NodeOf::NodeOf;
  ExprPtr value; ///< may be null
};

struct Assert : NodeOf<Stmt, Stmt::Kind::Assert> {
  using NodeOf::NodeOf;
  ExprPtr test, message; ///< the message may be null
};

struct Pass : NodeOf<Stmt, Stmt::Kind::Pass> {
  using NodeOf::NodeOf;
};
struct Break : NodeOf<Stmt, Stmt::Kind::Break> {
  using NodeOf::NodeOf;
};
struct Continue : NodeOf<Stmt, Stmt::Kind::Continue> {
  using NodeOf::NodeOf;
};

/// A statement of a module, or a function inside a function.
struct FunctionDef : NodeOf<Stmt, Stmt::Kind::FunctionDef> {
  using NodeOf::NodeOf;
  std::string name;
  SourceSpan nameSpan;
  SourceSpan headSpan; ///< from `def` to the colon
  std::vector<ExprPtr> decorators;
  std::vector<Param> params;
  ExprPtr returns; ///< may be null
  bool hasDocstring = false;
  std::string docstring; ///< not repeated in `body`
  Block body;            ///< empty where the docstring was all
};

/// `import module as alias` has no name; `from module import *` has the name "*".
struct ImportedName {
  std::string module, name, alias;
};

/// Parsed, but not supported in a kernel. `construct` is its name in messages: "`try`", "`import`".
/// The span is the keyword's if blocks follow, else the statement's.
struct UnsupportedStmt : NodeOf<Stmt, Stmt::Kind::Unsupported> {
  using NodeOf::NodeOf;
  std::string construct;
  std::string name;                  ///< of a class
  ExprPtr bases;                     ///< of a class: a Call of its name; null without parentheses
  std::vector<ExprPtr> decorators;   ///< of a class
  Block body;                        ///< the statements of all its blocks, for searches of a module
  std::vector<ImportedName> imports; ///< of an import
};

/// The statements of a file.
struct Module {
  SourceSpan span;
  Block body;
};

//===- Walking and names ----------------------------------------------------------------===//

/// Calls `visit` for each direct child expression, in source order.
void forEachChild(const Expr &expr, llvm::function_ref<void(const Expr &)> visit);

/// Calls `visit` for each direct child expression of the statement, not for those in its blocks.
void forEachExpr(const Stmt &stmt, llvm::function_ref<void(const Expr &)> visit);

/// Calls `visit` for each block of the statement, in source order.
void forEachBlock(const Stmt &stmt, llvm::function_ref<void(const Block &)> visit);

/// The operator as written: "+", "//", "not".
const char *spelling(UnaryOp op);
const char *spelling(BinaryOp op);
const char *spelling(CompareOp op);

} // namespace pantile::ast
