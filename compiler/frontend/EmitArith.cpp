//===- EmitArith.cpp - operators on run-time values -------------------------------------===//
// Needs: operands that were evaluated; promotion by Types.
// Gives: tile IR of `+ - * / // % << >> & | ^`, unary operators and pointer arithmetic.
// How:   Two constants fold as in Python. Otherwise numbers take the other operand's type if their
//        kind allows, both are converted to the common type and shape, and one operation follows.
//        Integer division truncates as in C.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"

using namespace pantile;
namespace arith = mlir::arith;
using ast::BinaryOp;

namespace {
std::string operatorText(BinaryOp op) { return std::string("`") + ast::spelling(op) + "`"; }

DType literalTypeOf(const Value &number) {
  if (number.is<bool>())
    return Scalar::I1;
  if (auto *real = number.dynAs<double>())
    return literalType(*real);
  return literalType(number.as<BigInt>()).value_or(Scalar::I64);
}

/// The first dimension in which shapes of one rank cannot broadcast: " at index 0: 16 and 8".
std::string unequal(const Shape &a, const Shape &b) {
  for (size_t i = 0; a.size() == b.size() && i < a.size(); ++i)
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      return " at index " + std::to_string(i) + ": " + std::to_string(a[i]) + " and " +
             std::to_string(b[i]);
  return "";
}

bool isPointer(const Value &value) {
  auto *runtime = value.dynAs<Runtime>();
  return runtime && runtime->type.element.isPointer();
}
} // namespace

std::optional<Emitter::Pair> Emitter::broadcastPair(const Runtime &lhs, const Runtime &rhs,
                                                    SourceSpan span) {
  if (lhs.type.shape == rhs.type.shape)
    return Pair{lhs, rhs};
  std::optional<Shape> shape = broadcastShapes(lhs.type.shape, rhs.type.shape);
  if (!shape) {
    error(span, "cannot broadcast `" + lhs.type.name() + "` and `" + rhs.type.name() +
                    "` to one shape: incompatible dimensions" +
                    unequal(lhs.type.shape, rhs.type.shape));
    return std::nullopt;
  }
  return Pair{broadcastTo(lhs, *shape), broadcastTo(rhs, *shape)};
}

std::optional<Emitter::Pair> Emitter::promoted(const Value &lhs, const Value &rhs, SourceSpan span,
                                               bool division, llvm::StringRef what) {
  auto operand = [&](const Value &value) -> std::optional<PromotionOperand> {
    if (auto *runtime = value.dynAs<Runtime>())
      return PromotionOperand{runtime->type.element, false};
    if (value.isNumber())
      return PromotionOperand{literalTypeOf(value), true};
    return std::nullopt;
  };
  std::optional<PromotionOperand> a = operand(lhs), b = operand(rhs);
  std::optional<DType> common = a && b ? promote(*a, *b, division) : std::nullopt;
  if (!common) {
    if (!lhs.failed() && !rhs.failed())
      error(span, (what.empty() ? std::string("this operation") : what.str()) + " takes no " +
                      kindText(lhs) + " and " + kindText(rhs));
    return std::nullopt;
  }
  for (const Value *value : {&lhs, &rhs})
    if (value->is<BigInt>() && value->as<BigInt>() < 0 && common->isInt() && !common->isSigned()) {
      error(span, "an unsigned tensor and a negative scalar: `" + constantText(*value) +
                      "` is out of range for type `" + common->name() + "`");
      return std::nullopt;
    }
  auto convert = [&](const Value &value) -> std::optional<Runtime> {
    return value.isNumber() ? number(value, *common, span)
                            : cast(value.as<Runtime>(), *common, span);
  };
  std::optional<Runtime> x = convert(lhs), y = convert(rhs);
  if (!x || !y)
    return std::nullopt;
  return broadcastPair(*x, *y, span);
}

namespace {
/// Builds the operation of two operands of one type.
struct BinaryBuilder {
  Emitter &e;
  mlir::Location loc;
  const Runtime &x, &y;

  template <typename Op> Value make() {
    return Runtime{e.b.createOrFold<Op>(loc, x.ir, y.ir), x.type};
  }
  bool isFloat() const { return x.type.element.isFloat(); }
  bool isSigned() const { return x.type.element.isSigned(); }

  Value build(BinaryOp op) {
    switch (op) {
    case BinaryOp::Add:
      return isFloat() ? make<arith::AddFOp>() : make<arith::AddIOp>();
    case BinaryOp::Sub:
      return isFloat() ? make<arith::SubFOp>() : make<arith::SubIOp>();
    case BinaryOp::Mul:
      return isFloat() ? make<arith::MulFOp>() : make<arith::MulIOp>();
    case BinaryOp::Div:
      return make<arith::DivFOp>();
    case BinaryOp::FloorDiv:
      return isSigned() ? make<arith::DivSIOp>() : make<arith::DivUIOp>();
    case BinaryOp::Mod:
      if (isFloat())
        return make<arith::RemFOp>();
      return isSigned() ? make<arith::RemSIOp>() : make<arith::RemUIOp>();
    case BinaryOp::Shl:
      return make<arith::ShLIOp>();
    case BinaryOp::Shr:
      return isSigned() ? make<arith::ShRSIOp>() : make<arith::ShRUIOp>();
    case BinaryOp::And:
      return make<arith::AndIOp>();
    case BinaryOp::Or:
      return make<arith::OrIOp>();
    case BinaryOp::Xor:
      return make<arith::XOrIOp>();
    default:
      llvm_unreachable("`**` and `@` are refused before");
    }
  }
};

bool takesIntegersOnly(BinaryOp op) {
  return op == BinaryOp::FloorDiv || op == BinaryOp::Shl || op == BinaryOp::Shr ||
         op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
}

bool takesRealsOnly(BinaryOp op) { return op == BinaryOp::Mod || takesIntegersOnly(op); }

bool isFloat(const Value &value) {
  auto *runtime = value.dynAs<Runtime>();
  return runtime ? runtime->type.element.isFloat() : value.is<double>();
}

/// Integers of different signedness, which division has no common type for. A literal takes the
/// type of the other operand, unless that one is boolean and the literal is not.
bool differInSign(const Value &lhs, const Value &rhs) {
  auto typeOf = [](const Value &value) -> std::optional<DType> {
    if (value.isRuntime())
      return value.as<Runtime>().type.element;
    return value.is<BigInt>() ? std::optional(literalTypeOf(value)) : std::nullopt;
  };
  const std::optional<DType> a = typeOf(lhs), c = typeOf(rhs);
  if (!a || !c || !a->isInt() || !c->isInt() || a->isSigned() == c->isSigned())
    return false;
  const bool hasLiteral = lhs.is<BigInt>() || rhs.is<BigInt>();
  return !hasLiteral || (lhs.isRuntime() ? *a : *c).isBool();
}

std::string invalidOperands(BinaryOp op, const Value &lhs, const Value &rhs) {
  return "invalid operands of type " + kindText(lhs) + " and " + kindText(rhs) + ": " +
         operatorText(op) + " takes integers";
}
} // namespace

Value Emitter::binaryOf(BinaryOp op, const Value &lhs, const ast::Expr &left, const Value &rhs,
                        const ast::Expr &right, SourceSpan span) {
  bool computes = lhs.isRuntime() || rhs.isRuntime();
  if ((lhs.isComplex() || rhs.isComplex()) && takesRealsOnly(op))
    return error(lhs.isComplex() ? left.span : right.span,
                 operatorText(op) + " takes no " + kindText(lhs.isComplex() ? lhs : rhs));
  if (computes && takesIntegersOnly(op) && isFloat(lhs) != isFloat(rhs))
    return error(isFloat(lhs) ? left.span : right.span, invalidOperands(op, lhs, rhs));
  return binary(op, lhs, rhs, span);
}

/// Asserts that the result is what it is in 64 bits. The library computes with wrapping on purpose.
void Emitter::checkOverflow(BinaryOp op, const Pair &operands) {
  DType dtype = operands.first.type.element;
  bool mayOverflow = op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
  const bool checks = options.debug && options.sanitizeOverflow;
  if (!checks || !mayOverflow || !dtype.isInt() || dtype.isBool() || dtype.bits() >= 64 ||
      frame->function->inLibrary)
    return;
  Runtime x = *cast(operands.first, Scalar::I64, here());
  Runtime y = *cast(operands.second, Scalar::I64, here());
  Value exact = BinaryBuilder{*this, loc(), x, y}.build(op);
  BigInt values = BigInt(1) << dtype.bits(), low = dtype.isSigned() ? -values / 2 : BigInt(0);
  Value isAbove = compare(ast::CompareOp::Ge, exact, low, here());
  Value isBelow = compare(ast::CompareOp::Lt, exact, low + values, here());
  Value holds = logical(true, isAbove, isBelow, here());
  AssertOp::create(b, loc(), holds.as<Runtime>().ir,
                   dtype.name() + " overflow in " + operatorText(op));
}

Value Emitter::binary(BinaryOp op, const Value &lhs, const Value &rhs, SourceSpan span,
                      bool checksOverflow) {
  if (lhs.failed() || rhs.failed())
    return Failed();
  if (isFoldable(lhs) && isFoldable(rhs)) {
    Folded folded = foldBinary(op, lhs, rhs);
    return folded.error.empty() ? folded.value : error(span, folded.error);
  }
  if (op == BinaryOp::MatMul)
    return error(span, "`@` is not supported in a kernel; `tl.dot` multiplies tiles",
                 ErrorKind::Unsupported);
  if (op == BinaryOp::Pow)
    return error(span, "`**` is supported on compile-time values only; `libdevice.pow` takes tiles",
                 ErrorKind::Unsupported);
  if (op == BinaryOp::Add && (isPointer(lhs) || isPointer(rhs)))
    return isPointer(lhs) ? addPointer(lhs, rhs, span) : addPointer(rhs, lhs, span);
  if (op == BinaryOp::Sub && isPointer(lhs))
    return addPointer(lhs, rhs, span, /*negate=*/true);
  if (lhs.isComplex() || rhs.isComplex())
    return complexBinary(*this, op, lhs, rhs, span);
  bool division = op == BinaryOp::Div || op == BinaryOp::Mod;
  std::string what = operatorText(op);
  if ((op == BinaryOp::FloorDiv || division) && differInSign(lhs, rhs))
    return error(span, what + " takes no operands of different signedness: " + kindText(lhs) +
                           " and " + kindText(rhs) +
                           inTriton("Cannot use /, #, or % with them because they have different "
                                    "signedness"));
  std::optional<Pair> operands = promoted(lhs, rhs, span, division, what);
  if (!operands)
    return Failed();
  DType common = operands->first.type.element;
  if (takesIntegersOnly(op) && !common.isInt())
    return error(span, invalidOperands(op, lhs, rhs));
  if (op == BinaryOp::Div && common.isInt()) {
    operands->first = *cast(operands->first, Scalar::F32, span);
    operands->second = *cast(operands->second, Scalar::F32, span);
  }
  if (checksOverflow)
    checkOverflow(op, *operands);
  const Runtime x = fromFp8(operands->first), y = fromFp8(operands->second);
  const Value result = BinaryBuilder{*this, loc(), x, y}.build(op);
  return common.isFp8() ? Value(*cast(result.as<Runtime>(), common, span)) : result;
}

Runtime Emitter::fromFp8(const Runtime &x) {
  return x.type.element.isFp8() ? *cast(x, Scalar::F32, here()) : x;
}

Value Emitter::addPointer(const Value &pointer, const Value &offset, SourceSpan span, bool negate) {
  if (isPointer(offset))
    return error(span,
                 "cannot combine two pointers: " + kindText(pointer) + " and " + kindText(offset));
  // The opposite of a number may have a wider type.
  const std::optional<BigInt> known = negate ? knownInt(offset) : std::nullopt;
  std::optional<Runtime> steps = runtime(known ? Value(-*known) : offset, span);
  if (!steps)
    return Failed();
  DType dtype = steps->type.element;
  if (!dtype.isInt())
    return error(span, "a pointer moves by integers, got " + kindText(offset) +
                           (dtype.isFloat() ? "; `//` divides integers" : ""));
  bool widen = !dtype.isSigned() || dtype.bits() < 32;
  if (widen)
    steps = cast(*steps, dtype.bits() < 32 ? Scalar::I32 : Scalar::I64, span);
  if (negate && !known) {
    Value negated = unary(ast::UnaryOp::Neg, *steps, span);
    if (negated.failed())
      return negated;
    steps = negated.as<Runtime>();
  }
  std::optional<Pair> both = broadcastPair(pointer.as<Runtime>(), *steps, span);
  if (!both)
    return Failed();
  const Runtime &base = both->first;
  return Runtime{AddPtrOp::create(b, loc(), base.ir.getType(), base.ir, both->second.ir),
                 base.type};
}

Value Emitter::unary(ast::UnaryOp op, const Value &operand, SourceSpan span) {
  if (operand.failed())
    return Failed();
  if (op == ast::UnaryOp::Not) {
    if (auto truth = constantTruth(operand))
      return !*truth;
    std::optional<Runtime> flag = toBool(operand, span);
    if (!flag)
      return Failed();
    Runtime one = splat(constant(Scalar::I1, BigInt(1)), flag->type.shape);
    return Runtime{b.createOrFold<arith::XOrIOp>(loc(), flag->ir, one.ir), flag->type};
  }
  if (operand.isComplex())
    return complexUnary(*this, op, operand, span);
  auto *x = operand.dynAs<Runtime>();
  if (!x) {
    Folded folded = foldUnary(op, operand);
    return folded.error.empty() ? folded.value : error(span, folded.error);
  }
  DType dtype = x->type.element;
  bool invert = op == ast::UnaryOp::Invert;
  if (!dtype.isNumber() || (invert && !dtype.isInt()))
    return error(span, std::string("`") + ast::spelling(op) + "` takes no " + kindText(operand) +
                           ": wrong type argument to unary " + (invert ? "invert" : "minus"));
  if (op == ast::UnaryOp::Pos)
    return operand;
  if (dtype.isFloat()) {
    const Runtime wide = fromFp8(*x);
    const Runtime negative{b.createOrFold<arith::NegFOp>(loc(), wide.ir), wide.type};
    return dtype.isFp8() ? *cast(negative, dtype, span) : negative;
  }
  Runtime other = splat(constant(dtype, BigInt(invert ? -1 : 0)), x->type.shape);
  if (invert)
    return Runtime{b.createOrFold<arith::XOrIOp>(loc(), x->ir, other.ir), x->type};
  return Runtime{b.createOrFold<arith::SubIOp>(loc(), other.ir, x->ir), x->type};
}
