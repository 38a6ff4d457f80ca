//===- Complex.h - complex64 as a pair of fp32 ------------------------------------------===//
// Needs: an emitter whose insertion point is where operations go.
// Gives: complex values from real parts and from the 64 bits in memory; their arithmetic and
//        comparison; operations that treat both parts in the same way.
// How:   A complex value is structured (StructKind::Complex), so loops, branches and calls handle
//        its parts, and no pass has such a type. Its parts are two fp32 tiles or scalars of one
//        shape, or two compile-time floats. In memory the real part comes first, as in NumPy: the
//        lower half of 64 bits, which one access moves.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"
#include <complex>

namespace pantile {

/// Two fp32 values of one shape.
struct ComplexParts {
  Runtime re, im;
};

Value complexValue(std::complex<double> constant);
Value complexValue(const ComplexParts &parts);
/// Of two results that are run-time values; a failed one where one of them is.
Value complexOfParts(const Value &re, const Value &im);

/// The type of a complex value: complex64 in the shape of its parts.
Type complexType(const Value &complex);
std::optional<std::complex<double>> complexConstant(const Value &value);

/// `value`, a complex or a real number or tile, as a complex one. fp64 would lose half of its
/// digits: it is refused unless the program converts (`isCast`).
std::optional<ComplexParts> complexParts(Emitter &e, const Value &value, SourceSpan span,
                                         bool isCast = false);

/// The 64 bits of memory, as uint64.
Runtime complexBits(Emitter &e, const ComplexParts &parts, SourceSpan span);
Value complexOfBits(Emitter &e, const Runtime &bits, SourceSpan span);

/// `+ - * /`, where one operand is complex.
Value complexBinary(Emitter &e, ast::BinaryOp op, const Value &lhs, const Value &rhs,
                    SourceSpan span);
Value complexUnary(Emitter &e, ast::UnaryOp op, const Value &operand, SourceSpan span);
/// `==` and `!=`; comparisons of order are refused.
Value complexCompare(Emitter &e, ast::CompareOp op, const Value &lhs, const Value &rhs,
                     SourceSpan span);
/// `abs`: a float or fp32.
Value complexMagnitude(Emitter &e, const Value &complex, SourceSpan span);
/// Whether `op` has a meaning for complex numbers.
bool isComplexOperator(ast::BinaryOp op);

Value complexAttribute(Emitter &e, const Value &complex, llvm::StringRef name);

/// The result of an operation that does the same with both parts (shapes, order of the elements);
/// nothing if it does not or no operand is complex.
std::optional<Value> callByParts(Emitter &e, const BoundCall &call);
/// Whether the operation compares the elements by size.
bool ordersElements(const BuiltinRow &row);

/// `dot` where an operand is complex.
Value complexDot(Emitter &e, const BoundCall &call);

} // namespace pantile
