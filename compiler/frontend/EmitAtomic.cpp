//===- EmitAtomic.cpp - atomic operations -----------------------------------------------===//
// Gives: tile.atomic_rmw and tile.atomic_cas; calls that change memory return the old value.
// How:   The maximum and minimum of floats use their bit patterns: where the new value is not
//        negative the patterns order as signed integers, elsewhere in reverse as unsigned. Floats
//        are loaded and stored as bit patterns, too.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/TritonWords.h"
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;
namespace arith = mlir::arith;

namespace {
struct Order {
  MemSemantic sem = MemSemantic::AcqRel;
  MemScope scope = MemScope::Gpu;
};

std::optional<Order> orderOf(Emitter &e, const BoundCall &call, Order order = {}) {
  if (!call["sem"].isNone()) {
    auto name = e.needString(call["sem"], call.at("sem"), "`sem`");
    if (!name)
      return std::nullopt;
    auto sem = symbolizeMemSemantic(*name);
    if (!sem) {
      e.error(call.at("sem"), "memory semantic \"" + *name + "\" is not supported");
      return std::nullopt;
    }
    order.sem = *sem;
  }
  if (!call["scope"].isNone()) {
    auto name = e.needString(call["scope"], call.at("scope"), "`scope`");
    if (!name)
      return std::nullopt;
    auto scope = symbolizeMemScope(*name);
    if (!scope) {
      e.error(call.at("scope"), "unknown memory scope \"" + *name + "\"");
      return std::nullopt;
    }
    order.scope = *scope;
  }
  return order;
}

/// The order of a call that only reads (`own` is acquire) or only writes (release).
std::optional<Order> oneSidedOrder(Emitter &e, const BoundCall &call, MemSemantic own) {
  auto order = orderOf(e, call, {own, MemScope::Gpu});
  if (!order || order->sem == own || order->sem == MemSemantic::Relaxed)
    return order;
  e.error(call.at("sem"), "`" + call.row->name + "` only supports " +
                              stringifyMemSemantic(own).str() + " and relaxed semantics, got " +
                              stringifyMemSemantic(order->sem).str());
  return std::nullopt;
}

std::optional<RmwKind> kindOf(llvm::StringRef name, DType dtype) {
  bool isSigned = dtype.isSigned();
  auto kind = llvm::StringSwitch<std::optional<RmwKind>>(name)
                  .Case("atomic_add", dtype.isFloat() ? RmwKind::FAdd : RmwKind::Add)
                  .Case("atomic_max", isSigned ? RmwKind::Max : RmwKind::UMax)
                  .Case("atomic_min", isSigned ? RmwKind::Min : RmwKind::UMin)
                  .Case("atomic_xchg", RmwKind::Xchg)
                  .Default(std::nullopt);
  if (kind || dtype.isFloat())
    return kind;
  return llvm::StringSwitch<std::optional<RmwKind>>(name)
      .Case("atomic_and", RmwKind::And)
      .Case("atomic_or", RmwKind::Or)
      .Case("atomic_xor", RmwKind::Xor)
      .Default(std::nullopt);
}

bool isSupported(llvm::StringRef name, DType dtype) {
  if (dtype.bits() >= 32)
    return true;
  bool isHalf = dtype == DType(Scalar::F16) || dtype == DType(Scalar::BF16);
  return isHalf && name == "atomic_add";
}

/// Pointer, value(s) and mask of a call, in the shape of the pointer.
struct AtomicOperands {
  Runtime pointer;
  DType pointee;
  llvm::SmallVector<Runtime, 2> values;
  mlir::Value mask;
};

std::optional<AtomicOperands> operandsOf(Emitter &e, const BoundCall &call,
                                         llvm::ArrayRef<llvm::StringRef> names,
                                         bool writes = true) {
  auto *pointer = call["pointer"].dynAs<Runtime>();
  if (!pointer || !pointer->type.element.isPointer()) {
    e.error(call.at("pointer"),
            "`" + call.row->name + "` needs a pointer, got " + kindText(call["pointer"]));
    return std::nullopt;
  }
  if (pointer->type.element.pointee().isComplex()) {
    e.error(call.at("pointer"), "`" + call.row->name + "` takes no pointer to `complex64`");
    return std::nullopt;
  }
  if (writes && pointer->type.element.isConst) {
    e.error(call.at("pointer"), "cannot store through a pointer to const" +
                                    inTriton("Cannot store to a constant pointer"));
    return std::nullopt;
  }
  AtomicOperands result{*pointer, pointer->type.element.pointee(), {}, {}};
  for (llvm::StringRef name : names) {
    SourceSpan at = call.at(name);
    auto cast = e.converted(call[name], result.pointee, at);
    if (!cast)
      return std::nullopt;
    auto shape = broadcastShapes(pointer->type.shape, cast->type.shape);
    if (!shape || *shape != pointer->type.shape) {
      e.error(at, "the value `" + call[name].as<Runtime>().type.name() +
                      "` does not broadcast to the pointers `" + pointer->type.name() + "`");
      return std::nullopt;
    }
    result.values.push_back(e.broadcastTo(*cast, pointer->type.shape));
  }
  return result;
}

/// Puts the call's mask into `operands`; false after an error.
bool addMask(Emitter &e, const BoundCall &call, AtomicOperands &operands) {
  if (call["mask"].isNone())
    return true;
  auto mask = e.toBool(call["mask"], call.at("mask"));
  if (!mask)
    return false;
  auto shape = broadcastShapes(operands.pointer.type.shape, mask->type.shape);
  if (!shape || *shape != operands.pointer.type.shape) {
    e.error(call.at("mask"), "the mask `" + mask->type.name() +
                                 "` does not broadcast to the pointers `" +
                                 operands.pointer.type.name() + "`");
    return false;
  }
  operands.mask = e.broadcastTo(*mask, *shape).ir;
  return true;
}

Runtime rmw(Emitter &e, RmwKind kind, const Runtime &pointer, const Runtime &value,
            mlir::Value mask, Order order, mlir::Value timeout = {}) {
  return {AtomicRmwOp::create(e.b, e.loc(), value.ir.getType(), kind, pointer.ir, value.ir, mask,
                              timeout, order.sem, order.scope),
          value.type};
}

/// The integer type of as many bits in memory.
DType bitsType(DType type) {
  const Scalar types[] = {Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64};
  return types[llvm::Log2_32(std::max(type.bits(), 8u) / 8)];
}

/// Whether it can be loaded and stored atomically: the types of registers, except pointers.
bool isPlain(Emitter &e, const BoundCall &call, DType pointee) {
  if (pointee.isNumber())
    return true;
  e.error(call.at("pointer"), "`" + call.row->name +
                                  "` only supports integer and floating-point elements, got `" +
                                  pointee.name() + "`");
  return false;
}

Value floatExtremum(Emitter &e, const AtomicOperands &operands, Order order, bool isMax,
                    SourceSpan span) {
  bool isWide = operands.pointee.bits() == 64;
  DType bits = isWide ? Scalar::I64 : Scalar::I32;
  const Runtime &value = operands.values[0];
  Runtime pointer = *e.cast(operands.pointer, bits.pointerTo(), span);
  Runtime pattern = *e.bitcast(value, bits, span);
  Value isPositive = e.compare(ast::CompareOp::Ge, pattern, BigInt(0), span);
  auto masked = [&](const Value &side) -> mlir::Value {
    if (!operands.mask)
      return side.as<Runtime>().ir;
    Runtime mask{operands.mask, side.as<Runtime>().type};
    return e.logical(true, mask, side, span).as<Runtime>().ir;
  };
  Value isNegative = e.unary(ast::UnaryOp::Not, isPositive, span);
  Runtime up =
      rmw(e, isMax ? RmwKind::Max : RmwKind::Min, pointer, pattern, masked(isPositive), order);
  Runtime down =
      rmw(e, isMax ? RmwKind::UMin : RmwKind::UMax, pointer, pattern, masked(isNegative), order);
  Value old = e.select(isPositive, up, down, span);
  return *e.bitcast(old.as<Runtime>(), operands.pointee, span);
}
} // namespace

Value pantile::emitAtomicRmw(Emitter &e, const BoundCall &call) {
  auto operands = operandsOf(e, call, {"val"});
  auto order = orderOf(e, call);
  if (!operands || !order)
    return Failed();
  const std::string &name = call.row->name;
  auto kind = kindOf(name, operands->pointee);
  if (!kind || !operands->pointee.isNumber() || !isSupported(name, operands->pointee))
    return e.error(call.at("pointer"),
                   "`" + name + "` does not support `" + operands->pointee.name() + "`");
  if (!addMask(e, call, *operands))
    return Failed();
  bool isExtremum = name == "atomic_max" || name == "atomic_min";
  if (isExtremum && operands->pointee.isFloat())
    return floatExtremum(e, *operands, *order, name == "atomic_max", call.span);
  return rmw(e, *kind, operands->pointer, operands->values[0], operands->mask, *order);
}

Value pantile::emitAtomicCas(Emitter &e, const BoundCall &call) {
  auto operands = operandsOf(e, call, {"cmp", "val"});
  auto order = orderOf(e, call);
  if (!operands || !order)
    return Failed();
  if (operands->pointee.bits() < 16)
    return e.error(call.at("pointer"),
                   "`atomic_cas` does not support `" + operands->pointee.name() + "`");
  const Runtime &expected = operands->values[0];
  return Runtime{AtomicCasOp::create(e.b, e.loc(), expected.ir.getType(), operands->pointer.ir,
                                     expected.ir, operands->values[1].ir, order->sem, order->scope),
                 expected.type};
}

Value pantile::emitAtomicLoad(Emitter &e, const BoundCall &call) {
  auto operands = operandsOf(e, call, {}, /*writes=*/false);
  auto order = oneSidedOrder(e, call, MemSemantic::Acquire);
  if (!operands || !order || !isPlain(e, call, operands->pointee) || !addMask(e, call, *operands))
    return Failed();
  const DType bits = bitsType(operands->pointee);
  auto pointer = e.cast(operands->pointer, bits.pointerTo(), call.span);
  if (!pointer)
    return Failed();
  const Runtime unused = e.zero({bits, pointer->type.shape});
  const Runtime seen = rmw(e, RmwKind::Load, *pointer, unused, operands->mask, *order);
  auto result = operands->pointee.isFloat() ? e.bitcast(seen, operands->pointee, call.span)
                                            : e.cast(seen, operands->pointee, call.span);
  return result ? Value(*result) : Value(Failed());
}

Value pantile::emitAtomicStore(Emitter &e, const BoundCall &call) {
  auto operands = operandsOf(e, call, {"val"});
  auto order = oneSidedOrder(e, call, MemSemantic::Release);
  if (!operands || !order || !isPlain(e, call, operands->pointee) || !addMask(e, call, *operands))
    return Failed();
  const DType bits = bitsType(operands->pointee);
  auto pointer = e.cast(operands->pointer, bits.pointerTo(), call.span);
  const Runtime &value = operands->values[0];
  auto pattern = operands->pointee.isFloat() ? e.bitcast(value, bits, call.span)
                                             : e.cast(value, bits, call.span);
  if (!pointer || !pattern)
    return Failed();
  rmw(e, RmwKind::Store, *pointer, *pattern, operands->mask, *order);
  return None();
}

namespace {
/// `timeout_ns` as 64 bits, null without one; nothing after an error.
std::optional<mlir::Value> timeoutOf(Emitter &e, const BoundCall &call) {
  if (call["timeout_ns"].isNone())
    return mlir::Value();
  SourceSpan at = call.at("timeout_ns");
  if (auto known = e.knownInt(call["timeout_ns"]); known && *known < 0) {
    e.error(at, "`atomic_poll` waits for a `timeout_ns` that is non-negative, got " +
                    bigIntText(*known));
    return std::nullopt;
  }
  auto timeout = e.runtime(call["timeout_ns"], at);
  if (timeout && (timeout->type.isTile() || !timeout->type.element.isInt())) {
    e.error(at, "`timeout_ns` must be a scalar integer, got `" + timeout->type.name() + "`");
    return std::nullopt;
  }
  auto wide = timeout ? e.cast(*timeout, Scalar::U64, at) : std::nullopt;
  return wide ? std::optional(wide->ir) : std::nullopt;
}
} // namespace

Value pantile::emitAtomicPoll(Emitter &e, const BoundCall &call) {
  auto operands = operandsOf(e, call, {"expected_value"}, /*writes=*/false);
  auto order = oneSidedOrder(e, call, MemSemantic::Acquire);
  auto timeout = timeoutOf(e, call);
  if (!operands || !order || !timeout)
    return Failed();
  if (!operands->pointee.isInt() || operands->pointee.bits() < 16)
    return e.error(call.at("pointer"), "`atomic_poll` only supports integer elements with width "
                                       "{16, 32, 64}, got `" +
                                           operands->pointee.name() + "`");
  const Runtime &expected = operands->values[0];
  const Runtime seen =
      rmw(e, RmwKind::Poll, operands->pointer, expected, mlir::Value(), *order, *timeout);
  return e.compare(ast::CompareOp::Eq, seen, expected, call.span);
}
