//===- PythonArithmetic.cpp - see PythonArithmetic.h ------------------------------------===//
#include "frontend/PythonArithmetic.h"
#include <cmath>

namespace pantile {

using ast::BinaryOp;
using ast::UnaryOp;

namespace {

const char *const tooLarge = "the integer is too large";
const char *const byZero = "division by zero";

FoldedNumber refused(std::string why) { return {std::nullopt, std::move(why)}; }

BigInt floorDiv(BigInt a, BigInt b) {
  const BigInt quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

double floatMod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// As CPython has it: of 1.0 // 0.1 the quotient 10.0 is one too many.
double floatFloorDiv(double a, double b) {
  const double quotient = (a - floatMod(a, b)) / b, down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

FoldedNumber floatPower(double a, double b) {
  if (a == 0 && b < 0)
    return refused(byZero);
  const double result = std::pow(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b))
    return refused("the power is complex");
  if (std::isinf(result) && !std::isinf(a) && !std::isinf(b))
    return refused("the power is too large");
  return {result, {}};
}

/// By squaring, from the lowest bit of the exponent on.
FoldedNumber power(BigInt base, BigInt exponent) {
  if (exponent < 0)
    return floatPower(double(base), double(exponent));
  BigInt result = 1;
  bool overflow = false;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && (overflow || __builtin_mul_overflow(result, base, &result)))
      return refused(tooLarge);
    overflow |= __builtin_mul_overflow(base, base, &base);
  }
  return {result, {}};
}

FoldedNumber shift(BinaryOp op, BigInt a, BigInt b) {
  if (b < 0)
    return refused("negative shift count");
  if (op == BinaryOp::Shr)
    return {a >> int(b > 126 ? 126 : b), {}};
  if (a != 0 && (b > 120 || (a > 0 ? a : -a) >> (126 - int(b)) != 0))
    return refused(tooLarge);
  return {a == 0 ? a : a * (BigInt(1) << int(b)), {}};
}

FoldedNumber divide(BinaryOp op, BigInt a, BigInt b) {
  if (b == 0)
    return refused(byZero);
  if (op == BinaryOp::Div)
    return {double(a) / double(b), {}};
  if (b == -1) { // the quotient may not fit
    BigInt result = 0;
    return op == BinaryOp::Mod                          ? FoldedNumber{result, {}}
           : __builtin_sub_overflow(result, a, &result) ? refused(tooLarge)
                                                        : FoldedNumber{result, {}};
  }
  const BigInt quotient = floorDiv(a, b);
  return {op == BinaryOp::Mod ? a - quotient * b : quotient, {}};
}

FoldedNumber integers(BinaryOp op, BigInt a, BigInt b) {
  BigInt result = 0;
  bool overflow = false;
  switch (op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return divide(op, a, b);
  case BinaryOp::Pow:
    return power(a, b);
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return shift(op, a, b);
  case BinaryOp::And:
    return {a & b, {}};
  case BinaryOp::Or:
    return {a | b, {}};
  case BinaryOp::Xor:
    return {a ^ b, {}};
  case BinaryOp::MatMul:
    return refused("`@` takes no numbers");
  }
  return overflow ? refused(tooLarge) : FoldedNumber{result, {}};
}

FoldedNumber floats(BinaryOp op, double a, double b) {
  const bool divides = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  if (b == 0 && divides)
    return refused(byZero);
  switch (op) {
  case BinaryOp::Add:
    return {a + b, {}};
  case BinaryOp::Sub:
    return {a - b, {}};
  case BinaryOp::Mul:
    return {a * b, {}};
  case BinaryOp::Div:
    return {a / b, {}};
  case BinaryOp::FloorDiv:
    return {floatFloorDiv(a, b), {}};
  case BinaryOp::Mod:
    return {floatMod(a, b), {}};
  case BinaryOp::Pow:
    return floatPower(a, b);
  default:
    return refused(std::string("`") + ast::spelling(op) + "` takes no floats");
  }
}

} // namespace

std::optional<BigInt> integerOf(const Number &number) {
  if (auto *flag = std::get_if<bool>(&number))
    return BigInt(*flag);
  auto *integer = std::get_if<BigInt>(&number);
  return integer ? std::optional(*integer) : std::nullopt;
}

double doubleOf(const Number &number) {
  return std::visit([](auto value) { return double(value); }, number);
}

FoldedNumber foldNumbers(BinaryOp op, const Number &lhs, const Number &rhs) {
  const auto a = integerOf(lhs), b = integerOf(rhs);
  if (!a || !b)
    return floats(op, doubleOf(lhs), doubleOf(rhs));
  FoldedNumber result = integers(op, *a, *b);
  const bool isBitwise = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
  if (isBitwise && std::holds_alternative<bool>(lhs) && std::holds_alternative<bool>(rhs))
    return {std::get<BigInt>(*result.value) != 0, {}};
  return result;
}

FoldedNumber foldNumber(UnaryOp op, const Number &operand) {
  if (const auto integer = integerOf(operand))
    return op == UnaryOp::Pos   ? FoldedNumber{*integer, {}}
           : op == UnaryOp::Neg ? integers(BinaryOp::Sub, 0, *integer)
                                : FoldedNumber{~*integer, {}};
  const double real = std::get<double>(operand);
  return op == UnaryOp::Invert ? FoldedNumber{}
                               : FoldedNumber{op == UnaryOp::Neg ? -real : real, {}};
}

bool numbersEqual(const Number &lhs, const Number &rhs) {
  const auto a = integerOf(lhs), b = integerOf(rhs);
  return a && b ? *a == *b : doubleOf(lhs) == doubleOf(rhs);
}

bool numbersOrdered(ast::CompareOp op, const Number &lhs, const Number &rhs) {
  const auto a = integerOf(lhs), b = integerOf(rhs);
  return a && b ? isOrdered(op, *a, *b) : isOrdered(op, doubleOf(lhs), doubleOf(rhs));
}

} // namespace pantile
