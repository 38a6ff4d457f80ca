//===- EmitMath.cpp - element-wise functions --------------------------------------------===//
// Needs: fp32 or fp64 operands where a function is not exact on narrower floats.
// Gives: operations of the arith, math and tile dialects, one per call.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <llvm/ADT/StringMap.h>

using namespace pantile;
namespace arith = mlir::arith;
namespace math = mlir::math;
using llvm::StringRef;

namespace {
using UnaryBuilder = mlir::Value (*)(mlir::OpBuilder &, mlir::Location, mlir::Value);

template <typename Op> mlir::Value build(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x) {
  return Op::create(b, loc, x);
}

UnaryBuilder floatFunction(StringRef name) {
  static const llvm::StringMap<UnaryBuilder> functions = {
      {"exp", build<math::ExpOp>},     {"exp2", build<math::Exp2Op>},   {"log", build<math::LogOp>},
      {"log2", build<math::Log2Op>},   {"sin", build<math::SinOp>},     {"cos", build<math::CosOp>},
      {"sqrt", build<math::SqrtOp>},   {"rsqrt", build<math::RsqrtOp>}, {"erf", build<math::ErfOp>},
      {"floor", build<math::FloorOp>}, {"ceil", build<math::CeilOp>}};
  return functions.lookup(name);
}

std::optional<Runtime> needWideFloat(Emitter &e, const BoundCall &call, StringRef name) {
  auto value = e.runtime(call[name], call.at(name));
  if (!value)
    return std::nullopt;
  DType dtype = value->type.element;
  if (dtype != DType(Scalar::F32) && dtype != DType(Scalar::F64)) {
    // Programs search for this message, which is Triton's.
    e.error(call.at(name), "Expected dtype ['fp32', 'fp64'] but got " + dtype.name() + ": `" +
                               call.row->name +
                               "` of a narrower type is that of `x.to(tl.float32)`");
    return std::nullopt;
  }
  return value;
}

/// Both operands of a call in one float type.
std::optional<Emitter::Pair> needFloats(Emitter &e, const BoundCall &call) {
  auto both = e.promoted(call["x"], call["y"], call.span, false, "`" + call.row->name + "`");
  if (both && !both->first.type.element.isFloat()) {
    e.error(call.span,
            "`" + call.row->name + "` takes floats, got `" + both->first.type.name() + "`");
    return std::nullopt;
  }
  return both;
}

/// fp32 for formats without a type in tile IR; other types are unchanged.
Runtime computable(Emitter &e, const Runtime &x) {
  return x.type.element.isSoftFp8() ? e.fromFp8(x) : x;
}

/// A result of computable operands in the type that these had.
Value inTypeOf(Emitter &e, const Runtime &operand, const Runtime &result, SourceSpan span) {
  return *e.cast(result, operand.type.element, span);
}
} // namespace

Value pantile::emitFloatMath(Emitter &e, const BoundCall &call) {
  auto x = needWideFloat(e, call, "x");
  if (!x)
    return Failed();
  return Runtime{floatFunction(call.row->name)(e.b, e.loc(), x->ir), x->type};
}

Value pantile::emitAbs(Emitter &e, const BoundCall &call) {
  const Value &input = call["x"];
  if (input.is<double>())
    return std::abs(input.as<double>());
  if (input.isComplex())
    return complexMagnitude(e, input, call.span);
  if (auto integer = constantInt(input))
    return *integer < 0 ? -*integer : *integer;
  auto x = e.runtime(input, call.at("x"));
  if (!x)
    return Failed();
  DType dtype = x->type.element;
  if (dtype.isFloat()) {
    const Runtime wide = computable(e, *x);
    const Runtime size{math::AbsFOp::create(e.b, e.loc(), wide.ir), wide.type};
    return inTypeOf(e, *x, size, call.span);
  }
  if (dtype.isSigned())
    return Runtime{math::AbsIOp::create(e.b, e.loc(), x->ir), x->type};
  return dtype.isInt() ? Value(*x) : e.error(call.at("x"), "`abs` takes no " + kindText(*x));
}

Value pantile::emitSqrtRn(Emitter &e, const BoundCall &call) {
  auto x = needWideFloat(e, call, "x");
  if (!x)
    return Failed();
  return Runtime{PreciseSqrtOp::create(e.b, e.loc(), x->ir.getType(), x->ir), x->type};
}

Value pantile::emitDivRn(Emitter &e, const BoundCall &call) {
  auto both = needFloats(e, call);
  if (!both)
    return Failed();
  const Runtime x = computable(e, both->first), y = computable(e, both->second);
  const Runtime quotient{PreciseDivOp::create(e.b, e.loc(), x.ir.getType(), x.ir, y.ir), x.type};
  return inTypeOf(e, both->first, quotient, call.span);
}

Value pantile::emitFdiv(Emitter &e, const BoundCall &call) {
  auto precise = e.needBool(call["ieee_rounding"], call.at("ieee_rounding"), "`ieee_rounding`");
  auto approximate = e.needBool(call["approx"], call.at("approx"), "`approx`");
  auto both = needFloats(e, call);
  if (!both || !precise || !approximate)
    return Failed();
  // The quotient is one for all: `approx` permits an error, and none is used.
  if (*approximate && *precise)
    return e.error(call.at("approx"), "`approx` and `ieee_rounding` cannot both be True" +
                                          inTriton("approx and ieee_rounding cannot both be True"));
  if (*approximate && both->first.type.element != DType(Scalar::F32))
    return e.error(call.at("approx"), "approx division requires float32 operands, got `" +
                                          both->first.type.element.name() + "`");
  if (*precise)
    return emitDivRn(e, call);
  const Runtime x = computable(e, both->first), y = computable(e, both->second);
  const Runtime quotient{arith::DivFOp::create(e.b, e.loc(), x.ir, y.ir), x.type};
  return inTypeOf(e, both->first, quotient, call.span);
}

Value pantile::emitFma(Emitter &e, const BoundCall &call) {
  auto xy = needFloats(e, call);
  auto xz = xy ? e.promoted(xy->first, call["z"], call.span, false, "`fma`") : std::nullopt;
  auto yz = xz ? e.promoted(xy->second, xz->second, call.span, false, "`fma`") : std::nullopt;
  auto both = yz ? e.promoted(xz->first, yz->second, call.span, false, "`fma`") : std::nullopt;
  if (!both)
    return Failed();
  const Runtime x = computable(e, both->first), y = computable(e, yz->first);
  const Runtime z = computable(e, both->second);
  const Runtime sum{math::FmaOp::create(e.b, e.loc(), x.ir, y.ir, z.ir), x.type};
  return inTypeOf(e, both->first, sum, call.span);
}

Value pantile::emitUmulhi(Emitter &e, const BoundCall &call) {
  auto both = e.promoted(call["x"], call["y"], call.span, false, "`umulhi`");
  if (!both)
    return Failed();
  const auto &[x, y] = *both;
  if (!x.type.element.isInt() || x.type.element.bits() < 32)
    return e.error(call.span,
                   "`umulhi` takes integers of 32 or 64 bits, got `" + x.type.name() + "`");
  return Runtime{MulHiUOp::create(e.b, e.loc(), x.ir.getType(), x.ir, y.ir), x.type};
}

Value pantile::emitWhere(Emitter &e, const BoundCall &call) {
  return e.select(call["condition"], call["x"], call["y"], call.span);
}

Value pantile::emitBinaryCall(Emitter &e, const BoundCall &call) {
  const std::string &name = call.row->name;
  ast::BinaryOp op = name == "add"   ? ast::BinaryOp::Add
                     : name == "sub" ? ast::BinaryOp::Sub
                                     : ast::BinaryOp::Mul;
  auto checks =
      e.needBool(call["sanitize_overflow"], call.at("sanitize_overflow"), "`sanitize_overflow`");
  return checks ? e.binary(op, call["x"], call["y"], call.span, *checks) : Value(Failed());
}

Value pantile::emitLogical(Emitter &e, const BoundCall &call) {
  return e.logical(call.row->name == "logical_and", call["x"], call["y"], call.span);
}

Value pantile::emitMinMax(Emitter &e, const BoundCall &call) {
  auto propagate = e.needBool(call["propagate_nan"], call.at("propagate_nan"), "`propagate_nan`");
  if (!propagate)
    return Failed();
  return e.minMax((call.row->name == "maximum" || call.row->name == "max"), call["x"], call["y"],
                  call.span, *propagate);
}

Value pantile::emitClamp(Emitter &e, const BoundCall &call) {
  auto propagate = e.needBool(call["propagate_nan"], call.at("propagate_nan"), "`propagate_nan`");
  if (!propagate)
    return Failed();
  Value raised = e.minMax(true, call["x"], call["min"], call.span, *propagate);
  return raised.failed() ? raised : e.minMax(false, raised, call["max"], call.span, *propagate);
}

Value pantile::emitCustomFloat8(Emitter &e, const BoundCall &call) {
  auto x = e.runtime(call["arg"], call.at("arg"));
  auto to = e.needDType(call["dst_ty"], call.at("dst_ty"), "`dst_ty`");
  if (!x || !to)
    return Failed();
  const DType from = x->type.element, custom = Scalar::F8E4B15;
  if (!from.isFloat() || !to->isFloat() || (from == custom) == (*to == custom))
    return e.error(call.span, "`" + call.row->name + "` converts between `" + custom.name() +
                                  "` and a wider float, got `" + from.name() + "` and `" +
                                  to->name() + "`");
  auto result = e.cast(*x, *to, call.span);
  return result ? Value(*result) : Value(Failed());
}
