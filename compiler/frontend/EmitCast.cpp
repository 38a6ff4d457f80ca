//===- EmitCast.cpp - types in tile IR, constants, and conversions ----------------------===//
// Needs: an insertion point inside the kernel.
// Gives: the IR type of a language type, constants, splats, broadcasts and casts.
// How:   Constants are created once each, in the entry block, so that they dominate every region. A
//        pointer to int1 is a pointer to i8 in tile IR: a bool takes a byte in memory. fp8e4b15,
//        fp8e4b8 and fp8e5b16 are i8 in tile IR: SoftFloat8 converts them.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/SoftFloat8.h"
#include <cmath>

using namespace pantile;
namespace arith = mlir::arith;

namespace {
bool isSameWidth(DType a, DType b) { return a.bits() == b.bits(); }
} // namespace

mlir::Type Emitter::irType(DType dtype) {
  if (dtype.isPointer()) {
    DType pointee = dtype.pointee();
    return PtrType::get(&context, pointee.isBool() ? b.getI8Type() : irType(pointee));
  }
  switch (dtype.scalar) {
  case Scalar::F8E5:
    return mlir::Float8E5M2Type::get(&context);
  case Scalar::F8E4:
    return mlir::Float8E4M3FNType::get(&context);
  case Scalar::F16:
    return b.getF16Type();
  case Scalar::BF16:
    return b.getBF16Type();
  case Scalar::F32:
    return b.getF32Type();
  case Scalar::F64:
    return b.getF64Type();
  default:
    return b.getIntegerType(std::max(1u, dtype.bits()));
  }
}

mlir::Type Emitter::irType(const Type &type) {
  mlir::Type element = irType(type.element);
  return type.isTile() ? mlir::RankedTensorType::get(type.shape, element) : element;
}

Runtime Emitter::constant(DType dtype, BigInt value) {
  if (dtype.isFloat())
    return constant(dtype, double(value));
  llvm::APInt bits(dtype.bits(), uint64_t(value), /*isSigned=*/false, /*implicitTrunc=*/true);
  mlir::TypedAttr attr = mlir::IntegerAttr::get(irType(dtype), bits);
  mlir::Value &known = constants[attr];
  if (!known) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    known = arith::ConstantOp::create(b, loc(), attr);
  }
  return {known, {dtype, {}}};
}

Runtime Emitter::constant(DType dtype, double value) {
  if (dtype.isSoftFp8())
    return {constant(Scalar::U8, BigInt(softFp8Of(dtype, value))).ir, {dtype, {}}};
  if (!dtype.isFloat())
    return constant(dtype, BigInt(value));
  mlir::TypedAttr attr = b.getFloatAttr(irType(dtype), value);
  mlir::Value &known = constants[attr];
  if (!known) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    known = arith::ConstantOp::create(b, loc(), attr);
  }
  return {known, {dtype, {}}};
}

Runtime Emitter::filled(const Type &type, double value) {
  return splat(constant(type.element, value), type.shape);
}

Runtime Emitter::zero(const Type &type) {
  if (!type.element.isPointer())
    return filled(type, 0);
  mlir::Value null =
      IntToPtrOp::create(b, loc(), irType(type.element), constant(Scalar::I64, BigInt(0)).ir);
  return splat({null, {type.element, {}}}, type.shape);
}

Runtime Emitter::splat(const Runtime &scalar, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return scalar;
  Type type{scalar.type.element, Shape(shape)};
  return {SplatOp::create(b, loc(), irType(type), scalar.ir), type};
}

Runtime Emitter::broadcastTo(const Runtime &value, llvm::ArrayRef<int64_t> shape) {
  if (!value.type.isTile())
    return splat(value, shape);
  Runtime result = value;
  while (result.type.rank() < shape.size())
    result = expandDims(result, 0).as<Runtime>();
  if (llvm::ArrayRef<int64_t>(result.type.shape) == shape)
    return result;
  Type type{value.type.element, Shape(shape)};
  return {BroadcastOp::create(b, loc(), irType(type), result.ir), type};
}

std::optional<Runtime> Emitter::number(const Value &value, DType dtype, SourceSpan span) {
  if (dtype.isPointer()) {
    error(span, "a number is no `" + dtype.name() + "`");
    return std::nullopt;
  }
  if (dtype.isBool())
    return constant(dtype, BigInt(*constantDouble(value) != 0));
  if (dtype.isFloat())
    return constant(dtype, *constantDouble(value));
  BigInt integer = constantInt(value).value_or(0);
  auto *real = value.dynAs<double>();
  bool hasInteger = !real || std::fabs(*real) < 0x1p100;
  if (real && hasInteger)
    integer = BigInt(*real);
  if (!hasInteger || !fitsInto(integer, dtype)) {
    error(span, "`" + constantText(value) + "` is out of range for type `" + dtype.name() + "`");
    return std::nullopt;
  }
  return constant(dtype, integer);
}

namespace {
/// The integer that a float truncates to; saturated to `dtype`, 0 for NaN.
BigInt truncated(double value, DType dtype) {
  BigInt one = 1, low = dtype.isSigned() ? -(one << (dtype.bits() - 1)) : BigInt(0);
  BigInt high = low + (one << dtype.bits()) - 1;
  if (std::isnan(value))
    return 0;
  return value <= double(low) ? low : value >= double(high) ? high : BigInt(value);
}
} // namespace

std::optional<Runtime> Emitter::converted(const Value &value, DType dtype, SourceSpan span) {
  if (auto *real = value.dynAs<double>(); real && dtype.isNumber()) {
    bool isSingle = literalType(*real) == DType(Scalar::F32);
    double typed = isSingle ? double(float(*real)) : *real;
    if (dtype.isInt() && !dtype.isBool())
      return constant(dtype, truncated(typed, dtype));
    return number(typed, dtype, span);
  }
  if (value.isComplex()) {
    error(span, "cannot cast " + kindText(value) + " to `" + dtype.name() +
                    "`; `.real` is its real part");
    return std::nullopt;
  }
  std::optional<Runtime> typed = runtime(value, span);
  if (typed && value.is<BigInt>() && dtype.isInt() && !dtype.isBool())
    return constant(dtype, value.as<BigInt>());
  bool isExact = value.is<BigInt>() && fitsInto(value.as<BigInt>(), Scalar::I32);
  if (typed && dtype.isNumber() && (value.is<bool>() || isExact))
    return number(value, dtype, span);
  return typed ? cast(*typed, dtype, span) : std::nullopt;
}

std::optional<Runtime> Emitter::runtime(const Value &value, SourceSpan span,
                                        std::optional<DType> wanted) {
  if (auto *runtime = value.dynAs<Runtime>())
    return *runtime;
  if (value.failed())
    return std::nullopt;
  if (value.isComplex()) {
    error(span, "expected a real number or tile, got " + kindText(value) +
                    "; `.real` and `.imag` are its parts");
    return std::nullopt;
  }
  if (!value.isNumber()) {
    error(span, "expected a number or a tile, got " + std::string(value.isNone() ? "" : "a ") +
                    (value.isNone() ? "`None`" : kindText(value)));
    return std::nullopt;
  }
  if (wanted)
    return number(value, *wanted, span);
  if (auto *flag = value.dynAs<bool>())
    return constant(Scalar::I1, BigInt(*flag));
  if (auto *real = value.dynAs<double>())
    return constant(literalType(*real), *real);
  std::optional<DType> dtype = literalType(value.as<BigInt>());
  if (!dtype) {
    error(span, "`" + constantText(value) + "` does not fit into 64 bits");
    return std::nullopt;
  }
  return constant(*dtype, value.as<BigInt>());
}

namespace {
/// The conversion of one element type into another, by the kinds of both.
struct Converter {
  Emitter &e;
  mlir::Location loc;

  template <typename Op> Runtime to(const Runtime &x, DType dtype) {
    Type type = x.type.withElement(dtype);
    return {e.b.createOrFold<Op>(loc, e.irType(type), x.ir), type};
  }
  Runtime zeroOf(const Runtime &x) { return e.filled(x.type, 0); }

  Runtime toBool(const Runtime &narrow) {
    const Runtime x = e.fromFp8(narrow);
    Type type = x.type.withElement(Scalar::I1);
    mlir::Value zero = zeroOf(x).ir;
    if (x.type.element.isFloat())
      return {e.b.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x.ir, zero), type};
    return {e.b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x.ir, zero), type};
  }
  Runtime integers(const Runtime &x, DType dtype) {
    unsigned from = x.type.element.bits(), width = dtype.bits();
    if (from == width)
      return {x.ir, x.type.withElement(dtype)};
    if (from > width)
      return to<arith::TruncIOp>(x, dtype);
    return x.type.element.isSigned() ? to<arith::ExtSIOp>(x, dtype) : to<arith::ExtUIOp>(x, dtype);
  }
  Runtime truncate(const Runtime &x, DType dtype, bool roundToZero) {
    Type type = x.type.withElement(dtype);
    auto rounding =
        arith::RoundingModeAttr::get(e.b.getContext(), arith::RoundingMode::toward_zero);
    mlir::Value result =
        roundToZero
            ? arith::TruncFOp::create(e.b, loc, e.irType(type), x.ir, rounding, nullptr).getResult()
            : e.b.createOrFold<arith::TruncFOp>(loc, e.irType(type), x.ir);
    return {result, type};
  }
  Runtime floats(const Runtime &x, DType dtype, bool roundToZero) {
    DType from = x.type.element;
    if (isSameWidth(from, dtype))
      return truncate(to<arith::ExtFOp>(x, Scalar::F32), dtype, roundToZero);
    return from.bits() < dtype.bits() ? to<arith::ExtFOp>(x, dtype)
                                      : truncate(x, dtype, roundToZero);
  }
  Runtime floatToInt(const Runtime &x, DType dtype) {
    return dtype.isSigned() ? to<arith::FPToSIOp>(x, dtype) : to<arith::FPToUIOp>(x, dtype);
  }
  Runtime intToFloat(const Runtime &x, DType dtype) {
    return x.type.element.isSigned() ? to<arith::SIToFPOp>(x, dtype)
                                     : to<arith::UIToFPOp>(x, dtype);
  }
  template <typename Op> Runtime pointer(const Runtime &x, DType dtype) {
    Type type = x.type.withElement(dtype);
    return {Op::create(e.b, loc, e.irType(type), x.ir), type};
  }
};
} // namespace

std::optional<Runtime> Emitter::cast(const Runtime &value, DType to, SourceSpan span,
                                     bool roundToZero) {
  DType from = value.type.element;
  Converter convert{*this, loc()};
  if (from == to)
    return Runtime{value.ir, value.type.withElement(to)};
  if (from.isPointer() && to.isPointer())
    return irType(from) == irType(to) ? Runtime{value.ir, value.type.withElement(to)}
                                      : convert.pointer<PtrCastOp>(value, to);
  if (from.isPointer() && to.isInt()) {
    Runtime address = convert.pointer<PtrToIntOp>(value, Scalar::I64);
    if (to.isBool())
      return convert.toBool(address);
    if (to.bits() == 64)
      return Runtime{address.ir, address.type.withElement(to)};
  }
  if (from.isInt() && to.isPointer())
    return convert.pointer<IntToPtrOp>(convert.integers(value, Scalar::I64), to);
  bool mixesFp8 = (from.isFp8() && to.isInt()) || (from.isInt() && to.isFp8());
  if (!from.isNumber() || !to.isNumber() || mixesFp8) {
    error(span, "cannot cast `" + from.name() + "` to `" + to.name() + "`" +
                    (from.isPointer() ? "; `tl.load` reads what pointers point to" : ""));
    return std::nullopt;
  }
  if (from.isSoftFp8())
    return cast(softFp8ToHalf(*this, value), to, span, roundToZero);
  if (to.isFnuz())
    return floatToFnuz(*this, value, to, roundToZero);
  if (to.isSoftFp8()) {
    auto half = cast(value, Scalar::F16, span, roundToZero);
    return half ? std::optional(halfToFp8E4B15(*this, *half)) : std::nullopt;
  }
  if (to.isBool())
    return convert.toBool(value);
  if (from.isInt())
    return to.isInt() ? convert.integers(value, to) : convert.intToFloat(value, to);
  return to.isInt() ? convert.floatToInt(value, to) : convert.floats(value, to, roundToZero);
}

std::optional<Runtime> Emitter::bitcast(const Runtime &value, DType to, SourceSpan span) {
  DType from = value.type.element;
  if (from.isPointer() || to.isPointer())
    return cast(value, to, span);
  if (!isSameWidth(from, to)) {
    error(span, "cannot bitcast `" + from.name() + "` of " + std::to_string(from.bits()) +
                    " bits to `" + to.name() + "` of " + std::to_string(to.bits()));
    return std::nullopt;
  }
  Type type = value.type.withElement(to);
  if (irType(from) == irType(to))
    return Runtime{value.ir, type};
  return Runtime{b.createOrFold<arith::BitcastOp>(loc(), irType(type), value.ir), type};
}

std::optional<Runtime> Emitter::toBool(const Value &value, SourceSpan span) {
  if (value.isComplex()) {
    Value flag = complexCompare(*this, ast::CompareOp::Ne, value, 0.0, span);
    return flag.failed() ? std::nullopt : runtime(flag, span);
  }
  std::optional<Runtime> operand = runtime(value, span);
  return operand ? cast(*operand, Scalar::I1, span) : std::nullopt;
}
