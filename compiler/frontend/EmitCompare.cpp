//===- EmitCompare.cpp - comparison, logic and selection --------------------------------===//
// Gives: `== != < <= > >= is in`, `and or`, tl.where, and the minimum and maximum of two.
// How:   Compile-time values compare as in Python, where values of different kinds are unequal.
//        Run-time comparison gives int1.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"

using namespace pantile;
namespace arith = mlir::arith;
using ast::CompareOp;

namespace {
bool isEquality(CompareOp op) {
  return op == CompareOp::Eq || op == CompareOp::Ne || op == CompareOp::Is ||
         op == CompareOp::IsNot;
}
bool isNegative(CompareOp op) {
  return op == CompareOp::Ne || op == CompareOp::IsNot || op == CompareOp::NotIn;
}

arith::CmpFPredicate floatPredicate(CompareOp op) {
  switch (op) {
  case CompareOp::Eq:
    return arith::CmpFPredicate::OEQ;
  case CompareOp::Ne:
    return arith::CmpFPredicate::UNE;
  case CompareOp::Lt:
    return arith::CmpFPredicate::OLT;
  case CompareOp::Le:
    return arith::CmpFPredicate::OLE;
  case CompareOp::Gt:
    return arith::CmpFPredicate::OGT;
  default:
    return arith::CmpFPredicate::OGE;
  }
}

arith::CmpIPredicate intPredicate(CompareOp op, bool isSigned) {
  switch (op) {
  case CompareOp::Eq:
    return arith::CmpIPredicate::eq;
  case CompareOp::Ne:
    return arith::CmpIPredicate::ne;
  case CompareOp::Lt:
    return isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
  case CompareOp::Le:
    return isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule;
  case CompareOp::Gt:
    return isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
  default:
    return isSigned ? arith::CmpIPredicate::sge : arith::CmpIPredicate::uge;
  }
}

Runtime addressOf(Emitter &e, const Runtime &value, SourceSpan span) {
  return value.type.element.isPointer() ? *e.cast(value, Scalar::U64, span) : value;
}

/// A pointer compares by its address, also with a number.
Value comparable(Emitter &e, const Value &value, SourceSpan span) {
  return value.isRuntime() ? Value(addressOf(e, value.as<Runtime>(), span)) : value;
}
} // namespace

/// Whether an element of `sequence` equals `wanted`; of run-time values, an int1.
Value Emitter::contains(const Value &sequence, const Value &wanted, SourceSpan span) {
  if (sequence.is<std::string>() && wanted.is<std::string>())
    return sequence.as<std::string>().find(wanted.as<std::string>()) != std::string::npos;
  if (auto *tile = sequence.dynAs<Runtime>(); tile && tile->type.isTile())
    return error(span, "`in` takes a tuple or a range of constants, got `" + tile->type.name() +
                           "`; `tl.max(x == value)` looks for an element of a tile");
  auto items = sequence.is<std::string>() ? std::nullopt : itemsOf(sequence, span, "`in`");
  if (!items)
    return sequence.is<std::string>()
               ? error(span, "`in` a string takes a string, got " + kindText(wanted))
               : Value(Failed());
  Value result = false;
  for (const Value &item : *items) {
    Value isEqual = compare(CompareOp::Eq, wanted, item, span);
    if (isEqual.failed())
      return isEqual;
    if (auto truth = constantTruth(isEqual)) {
      if (*truth)
        return true;
    } else {
      result = result.isRuntime() ? logical(false, result, isEqual, span) : isEqual;
    }
  }
  return result;
}

Value Emitter::compare(CompareOp op, const Value &lhs, const Value &rhs, SourceSpan span) {
  if (lhs.failed() || rhs.failed())
    return Failed();
  if (op == CompareOp::In || op == CompareOp::NotIn) {
    Value found = contains(rhs, lhs, span);
    return found.failed() || op == CompareOp::In ? found : unary(ast::UnaryOp::Not, found, span);
  }
  bool isIdentity = op == CompareOp::Is || op == CompareOp::IsNot;
  if ((lhs.isComplex() || rhs.isComplex()) && !isIdentity && !lhs.isNone() && !rhs.isNone())
    return complexCompare(*this, op, lhs, rhs, span);
  if ((op == CompareOp::Eq || op == CompareOp::Ne) && lhs.isStruct() && rhs.isStruct())
    return compareStructs(op, lhs, rhs, span);
  bool bothConstant = !lhs.isRuntime() && !rhs.isRuntime();
  if (isEquality(op) && (bothConstant || isIdentity || lhs.isNone() || rhs.isNone()))
    return constantsEqual(lhs, rhs) != isNegative(op);
  if (bothConstant) {
    if (auto result = foldOrder(op, lhs, rhs))
      return *result;
    return error(span, std::string("`") + ast::spelling(op) + "` takes no " + kindText(lhs) +
                           " and " + kindText(rhs));
  }
  std::optional<Pair> operands =
      promoted(comparable(*this, lhs, span), comparable(*this, rhs, span), span, false,
               std::string("`") + ast::spelling(op) + "`");
  if (!operands)
    return Failed();
  const Runtime x = fromFp8(operands->first), y = fromFp8(operands->second);
  Type type = x.type.withElement(Scalar::I1);
  if (x.type.element.isFloat())
    return Runtime{b.createOrFold<arith::CmpFOp>(loc(), floatPredicate(op), x.ir, y.ir), type};
  return Runtime{
      b.createOrFold<arith::CmpIOp>(loc(), intPredicate(op, x.type.element.isSigned()), x.ir, y.ir),
      type};
}

/// Part by part; parts that only the run knows have no answer.
Value Emitter::compareStructs(CompareOp op, const Value &lhs, const Value &rhs, SourceSpan span) {
  bool equal = sameStructure(lhs, rhs);
  for (size_t i = 0; equal && i < lhs.elements().size(); ++i) {
    const Value &a = lhs.elements()[i], &c = rhs.elements()[i];
    if (a.isStruct() && c.isStruct()) {
      Value part = compareStructs(CompareOp::Eq, a, c, span);
      if (part.failed())
        return part;
      equal = part.as<bool>();
      continue;
    }
    std::optional<Value> x = knownValue(a), y = knownValue(c);
    bool isSame = a.isRuntime() && c.isRuntime() && a.as<Runtime>().ir == c.as<Runtime>().ir;
    if (!isSame && (!x || !y))
      return error(span, std::string("`") + ast::spelling(op) +
                             "` compares the compile-time parts of tuples; this part is " +
                             kindText(x ? c : a));
    equal = isSame || constantsEqual(*x, *y);
  }
  return equal == (op == CompareOp::Eq);
}

Value Emitter::logical(bool isAnd, const Value &lhs, const Value &rhs, SourceSpan span) {
  std::optional<Runtime> x = toBool(lhs, span), y = toBool(rhs, span);
  std::optional<Pair> both = x && y ? broadcastPair(*x, *y, span) : std::nullopt;
  if (!both)
    return Failed();
  const auto &[p, q] = *both;
  mlir::Value result = isAnd ? b.createOrFold<arith::AndIOp>(loc(), p.ir, q.ir)
                             : b.createOrFold<arith::OrIOp>(loc(), p.ir, q.ir);
  return Runtime{result, p.type};
}

Value Emitter::select(const Value &condition, const Value &x, const Value &y, SourceSpan span) {
  std::optional<Runtime> flag = toBool(condition, span);
  if (!flag)
    return Failed();
  if (x.isComplex() || y.isComplex()) {
    auto chosen = complexParts(*this, x, span), other = complexParts(*this, y, span);
    if (!chosen || !other)
      return Failed();
    Value re = select(*flag, chosen->re, other->re, span);
    Value im = select(*flag, chosen->im, other->im, span);
    return complexOfParts(re, im);
  }
  auto pointerOf = [](const Value &v) {
    return v.isRuntime() && v.as<Runtime>().type.element.isPointer();
  };
  std::optional<Pair> values;
  if (pointerOf(x) && pointerOf(y) && x.as<Runtime>().type.element == y.as<Runtime>().type.element)
    values = broadcastPair(x.as<Runtime>(), y.as<Runtime>(), span);
  else
    values = promoted(x, y, span, false, "`where`");
  if (!values)
    return Failed();
  std::optional<Shape> shape = broadcastShapes(flag->type.shape, values->first.type.shape);
  if (!shape)
    return error(span, "cannot broadcast the condition `" + flag->type.name() + "` and `" +
                           values->first.type.name() + "` to one shape");
  Runtime chosen = broadcastTo(values->first, *shape), other = broadcastTo(values->second, *shape);
  mlir::Value mask = broadcastTo(*flag, *shape).ir;
  return Runtime{b.createOrFold<arith::SelectOp>(loc(), mask, chosen.ir, other.ir), chosen.type};
}

namespace {
template <typename Op> Value make(Emitter &e, const Runtime &x, const Runtime &y) {
  return Runtime{e.b.createOrFold<Op>(e.loc(), x.ir, y.ir), x.type};
}
} // namespace

Value Emitter::minMax(bool isMax, const Value &x, const Value &y, SourceSpan span,
                      bool propagateNan) {
  auto operand = [&](const Value &value) -> std::optional<Runtime> {
    std::optional<Runtime> result = runtime(value, span);
    bool isBf16 = result && result->type.element == DType(Scalar::BF16);
    return isBf16 ? cast(*result, Scalar::F32, span) : result;
  };
  std::optional<Runtime> a = operand(x), c = operand(y);
  std::optional<Pair> both =
      a && c ? promoted(*a, *c, span, false, isMax ? "`maximum`" : "`minimum`") : std::nullopt;
  if (!both)
    return Failed();
  const auto &[p, q] = *both;
  if (p.type.element.isSoftFp8()) {
    Value wide = minMax(isMax, fromFp8(p), fromFp8(q), span, propagateNan);
    return *cast(wide.as<Runtime>(), p.type.element, span);
  }
  if (p.type.element.isFloat()) {
    if (propagateNan)
      return isMax ? make<arith::MaximumFOp>(*this, p, q) : make<arith::MinimumFOp>(*this, p, q);
    return isMax ? make<arith::MaxNumFOp>(*this, p, q) : make<arith::MinNumFOp>(*this, p, q);
  }
  if (p.type.element.isSigned())
    return isMax ? make<arith::MaxSIOp>(*this, p, q) : make<arith::MinSIOp>(*this, p, q);
  return isMax ? make<arith::MaxUIOp>(*this, p, q) : make<arith::MinUIOp>(*this, p, q);
}
