//===- Constexpr.h - compile-time values and Python's arithmetic on them ----------------===//
// Needs: values that exist at compile time; a run-time value is never folded here.
// Gives: operators, comparison, truth and text of constants as Python defines them.
// How:   arithmetic on numbers is PythonArithmetic.h's.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "frontend/Value.h"
#include "pantile/Program.h"
#include <optional>
#include <string>

namespace pantile {

/// A value, or why there is none.
struct Folded {
  Value value;
  std::string error;
};

/// Whether both operands are such that `foldBinary` decides the operation.
bool isFoldable(const Value &value);

Folded foldBinary(ast::BinaryOp op, const Value &lhs, const Value &rhs);
Folded foldUnary(ast::UnaryOp op, const Value &operand);

/// Equality of any two constants: of unlike kinds it is false.
bool constantsEqual(const Value &a, const Value &b);
/// Order of numbers, strings and tuples; none where there is no order.
std::optional<bool> foldOrder(ast::CompareOp op, const Value &lhs, const Value &rhs);

/// Python's truth of a constant; none of a run-time value.
std::optional<bool> constantTruth(const Value &value);

/// A number as a double or an integer; none of anything else (and of a float with a fraction).
std::optional<double> constantDouble(const Value &value);
std::optional<BigInt> constantInt(const Value &value);

/// str(value), or repr(value).
std::string constantText(const Value &value, bool repr = false);
std::string bigIntText(BigInt value);

/// "int", "tuple", "tensor fp16[32]": for messages.
std::string kindText(const Value &value);

/// kindText of two values; if those are equal and the values have parts, what the parts are:
/// "tuple (`int32`, None)".
std::pair<std::string, std::string> contrastText(const Value &a, const Value &b);

/// Whether `annotation` (may be null) says that a parameter or variable is a compile-time value.
bool isConstexprAnnotation(const ast::Expr *annotation);

/// A value of the program's snapshot. Names of the language come back as a ModuleValue with the
/// full name, for the caller to look up. `classes` are the program's.
Value fromSnapshot(const ConstValue &value, llvm::ArrayRef<ClassSource> classes = {});

} // namespace pantile
