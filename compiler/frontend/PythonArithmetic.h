//===- PythonArithmetic.h - Python's arithmetic on numbers ------------------------------===//
// Needs: numbers that are known before the kernel runs.
// Gives: operators and comparison as Python defines them, for constants of kernels (Constexpr.h) and
//        of modules (ModuleConstants.h): `//` rounds down, `/` gives a float, integers do not wrap.
// How:   integers are 128 bits wide; what does not fit is an error with a message.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include <optional>
#include <string>
#include <variant>

namespace pantile {

/// Wide enough for int64 and uint64 and for what arithmetic makes of them.
using BigInt = __int128;
using Number = std::variant<bool, BigInt, double>;

/// A number, or why there is none; neither where numbers of such types have no such operator.
struct FoldedNumber {
  std::optional<Number> value;
  std::string error;
};

FoldedNumber foldNumbers(ast::BinaryOp op, const Number &lhs, const Number &rhs);
/// `-`, `+` and `~`.
FoldedNumber foldNumber(ast::UnaryOp op, const Number &operand);

/// A bool counts as an integer; none of a float.
std::optional<BigInt> integerOf(const Number &number);
double doubleOf(const Number &number);

bool numbersEqual(const Number &lhs, const Number &rhs);
bool numbersOrdered(ast::CompareOp op, const Number &lhs, const Number &rhs);

/// `<`, `<=`, `>` or `>=` of two values of one type.
template <typename T> bool isOrdered(ast::CompareOp op, const T &lhs, const T &rhs) {
  switch (op) {
  case ast::CompareOp::Lt:
    return lhs < rhs;
  case ast::CompareOp::Le:
    return lhs <= rhs;
  case ast::CompareOp::Gt:
    return lhs > rhs;
  default:
    return lhs >= rhs;
  }
}

} // namespace pantile
