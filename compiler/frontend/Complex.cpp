//===- Complex.cpp - see Complex.h ------------------------------------------------------===//
// How: Each operation consists of those of real tiles. The quotient is computed by Smith's method:
//      it divides by the larger part of the divisor first, so that no square overflows, like
//      NumPy's. The magnitude does the same, and keeps denormals, which libdevice's hypot would
//      flush.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/ComplexFold.h"
#include <limits>

using namespace pantile;
using ast::BinaryOp;
using ast::CompareOp;

//===- values ---------------------------------------------------------------------------===//

Value pantile::complexValue(std::complex<double> constant) {
  return Value::structure({{constant.real(), constant.imag()}, {}, StructKind::Complex});
}

Value pantile::complexValue(const ComplexParts &parts) {
  return Value::structure({{parts.re, parts.im}, {}, StructKind::Complex});
}

Value pantile::complexOfParts(const Value &re, const Value &im) {
  return re.failed() || im.failed() ? Value(Failed())
                                    : complexValue({re.as<Runtime>(), im.as<Runtime>()});
}

Type pantile::complexType(const Value &complex) {
  auto *part = complex.elements()[0].dynAs<Runtime>();
  return {Scalar::C64, part ? part->type.shape : Shape()};
}

std::optional<std::complex<double>> pantile::complexConstant(const Value &value) {
  if (!value.isComplex())
    return constantDouble(value);
  std::optional<double> re = constantDouble(value.elements()[0]);
  std::optional<double> im = constantDouble(value.elements()[1]);
  return re && im ? std::optional(std::complex(*re, *im)) : std::nullopt;
}

namespace {
/// A number or a tile of numbers: fp32 of it is the real part of a complex one.
bool isReal(const Value &value) {
  auto *runtime = value.dynAs<Runtime>();
  return runtime ? runtime->type.element.isNumber() : value.isNumber();
}

std::optional<Runtime> realPart(Emitter &e, const Value &value, SourceSpan span, bool isCast) {
  if (value.isNumber())
    return e.number(value, Scalar::F32, span);
  const Runtime &tile = value.as<Runtime>();
  if (tile.type.element == DType(Scalar::F64) && !isCast) {
    e.error(span, "a complex number with parts of `" + tile.type.name() +
                      "` would be complex128, which the language has not; `.to(tl.float32)` makes "
                      "them those of a complex64");
    return std::nullopt;
  }
  return e.cast(tile, Scalar::F32, span);
}
} // namespace

std::optional<ComplexParts> pantile::complexParts(Emitter &e, const Value &value, SourceSpan span,
                                                  bool isCast) {
  if (value.failed())
    return std::nullopt;
  if (auto constant = value.isComplex() ? complexConstant(value) : std::nullopt)
    return ComplexParts{e.constant(Scalar::F32, constant->real()),
                        e.constant(Scalar::F32, constant->imag())};
  if (value.isComplex())
    return ComplexParts{value.elements()[0].as<Runtime>(), value.elements()[1].as<Runtime>()};
  if (!isReal(value)) {
    e.error(span, "`complex64` takes numbers and tiles of numbers, got " + kindText(value));
    return std::nullopt;
  }
  std::optional<Runtime> re = realPart(e, value, span, isCast);
  return re ? std::optional(ComplexParts{*re, e.zero(re->type)}) : std::nullopt;
}

//===- memory ---------------------------------------------------------------------------===//

Runtime pantile::complexBits(Emitter &e, const ComplexParts &parts, SourceSpan span) {
  auto wide = [&](const Runtime &part) {
    return *e.cast(*e.bitcast(part, Scalar::U32, span), Scalar::U64, span);
  };
  Value upper = e.binary(BinaryOp::Shl, wide(parts.im), BigInt(32), span, false);
  return e.binary(BinaryOp::Or, upper, wide(parts.re), span, false).as<Runtime>();
}

Value pantile::complexOfBits(Emitter &e, const Runtime &bits, SourceSpan span) {
  auto part = [&](const Runtime &word) {
    return *e.bitcast(*e.cast(word, Scalar::U32, span), Scalar::F32, span);
  };
  Runtime wide = *e.bitcast(bits, Scalar::U64, span);
  Runtime upper = e.binary(BinaryOp::Shr, wide, BigInt(32), span, false).as<Runtime>();
  return complexValue({part(wide), part(upper)});
}

//===- arithmetic -----------------------------------------------------------------------===//

namespace {
/// An operand that is real has no second part, and is not multiplied by one.
struct Operand {
  Runtime re;
  std::optional<Runtime> im;
};

struct Calculator {
  Emitter &e;
  SourceSpan span;
  Shape shape; ///< of the result

  Runtime make(BinaryOp op, const Runtime &x, const Runtime &y) {
    return e.binary(op, x, y, span, false).as<Runtime>();
  }
  Runtime add(const Runtime &x, const Runtime &y) { return make(BinaryOp::Add, x, y); }
  Runtime sub(const Runtime &x, const Runtime &y) { return make(BinaryOp::Sub, x, y); }
  Runtime mul(const Runtime &x, const Runtime &y) { return make(BinaryOp::Mul, x, y); }
  Runtime div(const Runtime &x, const Runtime &y) { return make(BinaryOp::Div, x, y); }
  Runtime negative(const Runtime &x) { return e.unary(ast::UnaryOp::Neg, x, span).as<Runtime>(); }
  Runtime magnitude(const Runtime &x) {
    return e.callBuiltin(*findBuiltin("tl", "abs"), {{x, span, {}, {}}}, span).as<Runtime>();
  }
  Runtime squareRoot(const Runtime &x) {
    return e.callBuiltin(*findBuiltin("tl", "sqrt"), {{x, span, {}, {}}}, span).as<Runtime>();
  }
  Runtime choose(const Value &flag, const Value &x, const Value &y) {
    return e.select(flag, x, y, span).as<Runtime>();
  }
  Value result(const Runtime &re, const Runtime &im) {
    return complexValue({e.broadcastTo(re, shape), e.broadcastTo(im, shape)});
  }

  Value sum(BinaryOp op, const Operand &x, const Operand &y) {
    Runtime re = make(op, x.re, y.re);
    if (x.im && y.im)
      return result(re, make(op, *x.im, *y.im));
    return result(re, x.im ? *x.im : op == BinaryOp::Sub ? negative(*y.im) : *y.im);
  }
  Value product(const Operand &x, const Operand &y) {
    if (x.im && y.im)
      return result(sub(mul(x.re, y.re), mul(*x.im, *y.im)),
                    add(mul(x.re, *y.im), mul(*x.im, y.re)));
    return result(mul(x.re, y.re), x.im ? mul(*x.im, y.re) : mul(x.re, *y.im));
  }
  /// large * sqrt(1 + (small / large)^2); infinite if a part is, as in C.
  Value hypotenuse(const ComplexParts &x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Runtime re = magnitude(x.re), im = magnitude(x.im);
    Value isReLarger = e.compare(CompareOp::Ge, re, im, span);
    Runtime large = choose(isReLarger, re, im), small = choose(isReLarger, im, re);
    Value isZero = e.compare(CompareOp::Eq, large, 0.0, span);
    Runtime ratio = choose(isZero, small, div(small, large));
    Value sum = e.binary(BinaryOp::Add, mul(ratio, ratio), 1.0, span);
    Value isInfinite = e.logical(false, e.compare(CompareOp::Eq, re, infinity, span),
                                 e.compare(CompareOp::Eq, im, infinity, span), span);
    return choose(isInfinite, infinity, mul(large, squareRoot(sum.as<Runtime>())));
  }
  Value quotient(const Operand &x, const Operand &y) {
    return y.im ? smith(x, y) : result(div(x.re, y.re), div(*x.im, y.re));
  }
  /// x / (large + small * i) or, with its parts exchanged, x / (small + large * i). A divisor of
  /// zero gives infinities and NaN, as a real one does.
  Value smith(const Operand &x, const Operand &y) {
    Runtime absRe = magnitude(y.re), absIm = magnitude(*y.im);
    Value isReLarger = e.compare(CompareOp::Ge, absRe, absIm, span);
    Runtime large = choose(isReLarger, y.re, *y.im), small = choose(isReLarger, *y.im, y.re);
    Value isZero = e.compare(CompareOp::Eq, large, 0.0, span);
    Runtime ratio = choose(isZero, small, div(small, large));
    Runtime divisor = choose(isZero, absRe, add(large, mul(small, ratio)));
    Runtime im = x.im ? *x.im : e.zero(x.re.type);
    Runtime first = choose(isReLarger, x.re, im), second = choose(isReLarger, im, x.re);
    Runtime difference = sub(second, mul(first, ratio));
    return result(div(add(first, mul(second, ratio)), divisor),
                  div(choose(isReLarger, difference, negative(difference)), divisor));
  }
};

std::optional<Operand> operandOf(Emitter &e, const Value &value, SourceSpan span) {
  if (!value.isComplex()) {
    std::optional<Runtime> re = realPart(e, value, span, false);
    return re ? std::optional(Operand{*re, std::nullopt}) : std::nullopt;
  }
  std::optional<ComplexParts> parts = complexParts(e, value, span);
  return parts ? std::optional(Operand{parts->re, parts->im}) : std::nullopt;
}

Shape operandShape(const Value &value) {
  auto *runtime = value.dynAs<Runtime>();
  return value.isComplex() ? complexType(value).shape : runtime ? runtime->type.shape : Shape();
}

/// The shape of both; reports that there is none, or that one is no number.
std::optional<Shape> commonShape(Emitter &e, const Value &lhs, const Value &rhs,
                                 const std::string &what, SourceSpan span) {
  for (const Value *value : {&lhs, &rhs})
    if (!value->isComplex() && !isReal(*value)) {
      e.error(span, what + " takes no " + kindText(lhs) + " and " + kindText(rhs));
      return std::nullopt;
    }
  std::optional<Shape> shape = broadcastShapes(operandShape(lhs), operandShape(rhs));
  if (!shape)
    e.error(span, "cannot broadcast " + kindText(lhs) + " and " + kindText(rhs) + " to one shape");
  return shape;
}
} // namespace

bool pantile::isComplexOperator(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || op == BinaryOp::Div;
}

Value pantile::complexBinary(Emitter &e, BinaryOp op, const Value &lhs, const Value &rhs,
                             SourceSpan span) {
  std::string what = std::string("`") + ast::spelling(op) + "`";
  if (!isComplexOperator(op))
    return e.error(span, what + " takes no " + kindText(lhs) + " and " + kindText(rhs));
  std::optional<Shape> shape = commonShape(e, lhs, rhs, what, span);
  if (!shape)
    return Failed();
  auto a = complexConstant(lhs), b = complexConstant(rhs);
  if (auto folded = a && b ? foldComplex(op, *a, *b) : std::nullopt)
    return complexValue(*folded);
  if (a && b)
    return e.error(span, "division by zero");
  std::optional<Operand> x = operandOf(e, lhs, span), y = operandOf(e, rhs, span);
  if (!x || !y)
    return Failed();
  Calculator calculator{e, span, *shape};
  if (op == BinaryOp::Mul)
    return calculator.product(*x, *y);
  return op == BinaryOp::Div ? calculator.quotient(*x, *y) : calculator.sum(op, *x, *y);
}

Value pantile::complexUnary(Emitter &e, ast::UnaryOp op, const Value &operand, SourceSpan span) {
  if (op == ast::UnaryOp::Invert)
    return e.error(span, "`~` takes no " + kindText(operand));
  if (op == ast::UnaryOp::Pos)
    return operand;
  return operand.withElements(
      {e.unary(op, operand.elements()[0], span), e.unary(op, operand.elements()[1], span)});
}

Value pantile::complexMagnitude(Emitter &e, const Value &complex, SourceSpan span) {
  if (auto constant = complexConstant(complex))
    return std::abs(*constant);
  auto parts = complexParts(e, complex, span);
  return parts ? Calculator{e, span, parts->re.type.shape}.hypotenuse(*parts) : Value(Failed());
}

//===- comparison -----------------------------------------------------------------------===//

Value pantile::complexCompare(Emitter &e, CompareOp op, const Value &lhs, const Value &rhs,
                              SourceSpan span) {
  std::string what = std::string("`") + ast::spelling(op) + "`";
  const bool isEqual = op == CompareOp::Eq;
  if (!isEqual && op != CompareOp::Ne)
    return e.error(span, what + " takes no " + kindText(lhs) + " and " + kindText(rhs) +
                             ": complex numbers have no order; `tl.abs`, `.real` and `.imag` have "
                             "one");
  auto a = complexConstant(lhs), b = complexConstant(rhs);
  if (a && b)
    return (*a == *b) == isEqual;
  if (!commonShape(e, lhs, rhs, what, span))
    return Failed();
  auto x = complexParts(e, lhs, span), y = complexParts(e, rhs, span);
  if (!x || !y)
    return Failed();
  return e.logical(isEqual, e.compare(op, x->re, y->re, span), e.compare(op, x->im, y->im, span),
                   span);
}
