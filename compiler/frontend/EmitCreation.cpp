//===- EmitCreation.cpp - position, creation and conversion of tiles --------------------===//
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"

using namespace pantile;

namespace {
std::optional<int32_t> gridAxis(Emitter &e, const BoundCall &call) {
  auto axis = e.needInt(call["axis"], call.at("axis"), "`axis`");
  if (axis && (*axis < 0 || *axis > 2)) {
    e.error(call.at("axis"), "`" + call.row->name +
                                 "`: program_id axis must be 0, 1, or 2 but got " +
                                 bigIntText(*axis));
    return std::nullopt;
  }
  return axis ? std::optional(int32_t(*axis)) : std::nullopt;
}

template <typename Op> Value emitPosition(Emitter &e, const BoundCall &call) {
  auto axis = gridAxis(e, call);
  if (!axis)
    return Failed();
  return Runtime{Op::create(e.b, e.loc(), e.b.getI32Type(), uint32_t(*axis)), {Scalar::I32, {}}};
}
} // namespace

Value pantile::emitProgramId(Emitter &e, const BoundCall &call) {
  return emitPosition<ProgramIdOp>(e, call);
}

Value pantile::emitNumPrograms(Emitter &e, const BoundCall &call) {
  return emitPosition<NumProgramsOp>(e, call);
}

Value pantile::emitArange(Emitter &e, const BoundCall &call) {
  const char *const words = "arange's arguments must be of type tl.constexpr: ";
  auto start = e.needInt(call["start"], call.at("start"), std::string(words) + "the start");
  auto end = e.needInt(call["end"], call.at("end"), std::string(words) + "the end");
  if (!start || !end)
    return Failed();
  BigInt count = *end - *start;
  if (!fitsInto(*start, Scalar::I32) || !fitsInto(*end, Scalar::I32))
    return e.error(call.span, "the ends of `arange` must fit into 32 bits" +
                                  inTriton("arange must fit in int32"));
  if (count <= 0)
    return e.error(call.span,
                   "arange's end argument must be greater than the start argument, got " +
                       bigIntText(*start) + " and " + bigIntText(*end));
  auto shape = e.needShape(Value(count), call.span, "the size of `arange`");
  if (!shape)
    return Failed();
  Type type{Scalar::I32, *shape};
  return Runtime{ArangeOp::create(e.b, e.loc(), e.irType(type), uint32_t(int32_t(*start)),
                                  uint32_t(int32_t(*end))),
                 type};
}

namespace {
Value fullComplex(Emitter &e, const BoundCall &call, const Shape &shape, DType dtype) {
  const SourceSpan at = call.at("value");
  if (!dtype.isComplex()) {
    e.converted(call["value"], dtype, at);
    return Failed();
  }
  auto parts = complexParts(e, call["value"], at, /*isCast=*/true);
  if (!parts)
    return Failed();
  if (parts->re.type.isTile())
    return e.error(at, "`full` takes a scalar, got " + kindText(call["value"]));
  return complexValue({e.splat(parts->re, shape), e.splat(parts->im, shape)});
}

Value castComplex(Emitter &e, const BoundCall &call, DType dtype, bool bitcast) {
  const Value &input = call["input"];
  const SourceSpan at = call.at("input");
  if (!call["fp_downcast_rounding"].isNone())
    return e.error(call.at("fp_downcast_rounding"),
                   "`fp_downcast_rounding` goes with a cast to a smaller float");
  if (auto *tile = input.dynAs<Runtime>(); bitcast && tile) {
    auto bits = e.bitcast(*tile, Scalar::U64, at);
    return bits ? complexOfBits(e, *bits, at) : Value(Failed());
  }
  auto parts = complexParts(e, input, at, /*isCast=*/true);
  if (!parts)
    return Failed();
  if (dtype.isComplex())
    return complexValue(*parts);
  if (!bitcast) {
    e.converted(input, dtype, at);
    return Failed();
  }
  auto bits = e.bitcast(complexBits(e, *parts, at), dtype, at);
  return bits ? Value(*bits) : Value(Failed());
}
} // namespace

Value pantile::emitFull(Emitter &e, const BoundCall &call) {
  auto shape = e.needShape(call["shape"], call.at("shape"), "a shape");
  auto dtype = e.needDType(call["dtype"], call.at("dtype"), "`dtype`");
  if (!shape || !dtype)
    return Failed();
  if (dtype->isComplex() || call["value"].isComplex())
    return fullComplex(e, call, *shape, *dtype);
  auto *integer = call["value"].dynAs<BigInt>();
  bool wraps = integer && dtype->isInt() && !dtype->isBool() &&
               fitsInto(*integer, dtype->isSigned() ? Scalar::I64 : Scalar::U64);
  std::optional<Runtime> value =
      wraps ? e.constant(*dtype, *integer) : e.runtime(call["value"], call.at("value"), dtype);
  if (!value)
    return Failed();
  if (value->type.isTile())
    return e.error(call.at("value"), "`full` takes a scalar, got `" + value->type.name() + "`");
  auto scalar = e.cast(*value, *dtype, call.at("value"));
  return scalar ? Value(e.splat(*scalar, *shape)) : Value(Failed());
}

Value pantile::emitCast(Emitter &e, const BoundCall &call) {
  auto dtype = e.needDType(call["dtype"], call.at("dtype"), "`dtype`");
  auto bitcast = e.needBool(call["bitcast"], call.at("bitcast"), "`bitcast`");
  if (!dtype || !bitcast)
    return Failed();
  if (dtype->isComplex() || call["input"].isComplex())
    return castComplex(e, call, *dtype, *bitcast);
  const Value &rounding = call["fp_downcast_rounding"];
  bool toZero = false;
  if (!rounding.isNone()) {
    SourceSpan at = call.at("fp_downcast_rounding");
    auto name = e.needString(rounding, at, "`fp_downcast_rounding`");
    if (!name)
      return Failed();
    if (*name != "rtne" && *name != "rtz")
      return e.error(at, "`fp_downcast_rounding` is \"rtne\" or \"rtz\", got \"" + *name + "\"");
    toZero = *name == "rtz";
  }
  const Value &input = call["input"];
  auto value = e.runtime(input, call.at("input"));
  if (!value)
    return Failed();
  DType from = value->type.element;
  bool smaller = from.isFloat() && dtype->isFloat() && from.bits() > dtype->bits();
  if (!rounding.isNone() && !smaller && !(from == *dtype))
    return e.error(call.at("fp_downcast_rounding"),
                   "`fp_downcast_rounding` goes with a cast to a smaller float, not from `" +
                       from.name() + "` to `" + dtype->name() + "`");
  auto result = *bitcast ? e.bitcast(*value, *dtype, call.span)
                : toZero ? e.cast(*value, *dtype, call.span, toZero)
                         : e.converted(input, *dtype, call.span);
  return result ? Value(*result) : Value(Failed());
}

Value pantile::emitToTensor(Emitter &e, const BoundCall &call) {
  if (call["x"].isComplex())
    return e.stored(call["x"], call.at("x"));
  auto value = e.runtime(call["x"], call.at("x"));
  return value ? Value(*value) : Value(Failed());
}

Value pantile::emitUnwrap(Emitter &, const BoundCall &call) { return call["o"]; }

Value pantile::emitBlockType(Emitter &e, const BoundCall &call) {
  auto element = e.needDType(call["element_ty"], call.at("element_ty"), "`element_ty`");
  auto shape = e.needShape(call["shape"], call.at("shape"), "`shape`");
  return element && shape ? Value(TypeValue{{*element, *shape}}) : Value(Failed());
}

Value pantile::emitGetIntDType(Emitter &e, const BoundCall &call) {
  auto bits = e.needInt(call["bitwidth"], call.at("bitwidth"), "`bitwidth`");
  auto isSigned = e.needBool(call["signed"], call.at("signed"), "`signed`");
  if (!bits || !isSigned)
    return Failed();
  auto dtype = parseDType((*isSigned || *bits == 1 ? "i" : "u") + std::to_string(int64_t(*bits)));
  return dtype ? Value(*dtype)
               : e.error(call.at("bitwidth"),
                         "there is no integer of " + constantText(call["bitwidth"]) + " bits");
}

Value pantile::emitPointerType(Emitter &e, const BoundCall &call) {
  auto element = e.needDType(call["element_ty"], call.at("element_ty"), "`element_ty`");
  auto isConst = e.needBool(call["const"], call.at("const"), "`const`");
  return element && isConst ? Value(element->pointerTo(*isConst)) : Value(Failed());
}
