//===- ComplexFold.h - compile-time arithmetic of complex numbers -----------------------===//
// Gives: Python's arithmetic of complex constants, in kernels and outside them.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Ast.h"
#include "pantile/Program.h"
#include <complex>
#include <optional>

namespace pantile {

/// A complex number, or one that has only a real part; none of what is no number.
std::optional<std::complex<double>> complexOf(const ConstValue &value);

/// `+ - * /`; none of other operators and of a division by zero.
std::optional<std::complex<double>> foldComplex(ast::BinaryOp op, std::complex<double> lhs,
                                                std::complex<double> rhs);

/// `-` and `+`; none of other operators.
std::optional<std::complex<double>> foldComplex(ast::UnaryOp op, std::complex<double> operand);

} // namespace pantile
