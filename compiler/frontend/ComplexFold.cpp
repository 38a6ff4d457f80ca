//===- ComplexFold.cpp - see ComplexFold.h ----------------------------------------------===//
#include "frontend/ComplexFold.h"

using namespace pantile;
using Complex = std::complex<double>;

std::optional<Complex> pantile::complexOf(const ConstValue &value) {
  if (auto *complex = std::get_if<Complex>(&value))
    return *complex;
  if (auto *real = std::get_if<double>(&value))
    return Complex(*real);
  if (auto *integer = std::get_if<int64_t>(&value))
    return Complex(double(*integer));
  auto *flag = std::get_if<bool>(&value);
  return flag ? std::optional(Complex(*flag)) : std::nullopt;
}

std::optional<Complex> pantile::foldComplex(ast::BinaryOp op, Complex lhs, Complex rhs) {
  switch (op) {
  case ast::BinaryOp::Add:
    return lhs + rhs;
  case ast::BinaryOp::Sub:
    return lhs - rhs;
  case ast::BinaryOp::Mul:
    return lhs * rhs;
  case ast::BinaryOp::Div:
    return rhs == 0.0 ? std::nullopt : std::optional(lhs / rhs);
  default:
    return std::nullopt;
  }
}

std::optional<Complex> pantile::foldComplex(ast::UnaryOp op, Complex operand) {
  if (op == ast::UnaryOp::Neg)
    return -operand;
  return op == ast::UnaryOp::Pos ? std::optional(operand) : std::nullopt;
}
