//===- EmitMemory.cpp - loads and stores ------------------------------------------------===//
// Needs: a scalar pointer or a tile of pointers.
// Gives: tile.load and tile.store with mask and other in the shape of the pointers.
// How:   A bool takes a byte: it is loaded and stored as i8; a complex64 as its 64 bits. A load
//        without `other` has no such operand, and gives 0 where the mask is false.
//===------------------------------------------------------------------------------------===//
#include "frontend/BlockPointer.h"
#include "frontend/Complex.h"
#include "frontend/TritonWords.h"
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;

namespace {
std::optional<Runtime> needPointer(Emitter &e, const Value &value, SourceSpan span,
                                   const std::string &what) {
  auto *runtime = value.dynAs<Runtime>();
  if (runtime && runtime->type.element.isPointer())
    return *runtime;
  if (!value.failed())
    e.error(span, what + " needs a pointer, got " +
                      (value.isNone() ? "`None`"
                       : runtime      ? kindText(value)
                                      : "a " + kindText(value)));
  return std::nullopt;
}

std::optional<CacheModifier> cacheOf(Emitter &e, const BoundCall &call, bool isLoad) {
  auto name = e.stringOrNone(call["cache_modifier"], call.at("cache_modifier"), "`cache_modifier`");
  if (!name)
    return std::nullopt;
  auto common = llvm::StringSwitch<std::optional<CacheModifier>>(*name)
                    .Case("", CacheModifier::None)
                    .Case(".cg", CacheModifier::Cg)
                    .Case(".cs", CacheModifier::Cs)
                    .Default(std::nullopt);
  if (common)
    return common;
  auto result = isLoad ? llvm::StringSwitch<std::optional<CacheModifier>>(*name)
                             .Case(".ca", CacheModifier::Ca)
                             .Case(".cv", CacheModifier::Cv)
                             .Default(std::nullopt)
                       : llvm::StringSwitch<std::optional<CacheModifier>>(*name)
                             .Case(".wb", CacheModifier::Wb)
                             .Case(".wt", CacheModifier::Wt)
                             .Default(std::nullopt);
  if (!result)
    e.error(call.at("cache_modifier"), "cache modifier \"" + *name + "\" is not supported; it is " +
                                           (isLoad ? "\".ca\", \".cg\", \".cs\" or \".cv\""
                                                   : "\".wb\", \".cg\", \".cs\" or \".wt\""));
  return result;
}

std::optional<EvictionPolicy> evictionOf(Emitter &e, const BoundCall &call) {
  SourceSpan at = call.at("eviction_policy");
  auto name = e.stringOrNone(call["eviction_policy"], at, "`eviction_policy`");
  if (!name)
    return std::nullopt;
  auto result = llvm::StringSwitch<std::optional<EvictionPolicy>>(*name)
                    .Cases({"", "evict_normal"}, EvictionPolicy::Normal)
                    .Case("evict_first", EvictionPolicy::First)
                    .Case("evict_last", EvictionPolicy::Last)
                    .Default(std::nullopt);
  if (!result)
    e.error(at, "eviction policy \"" + *name + "\" is not supported");
  return result;
}

/// `boundary_check` and `padding_option` belong to block pointers.
bool refuseBlockPointers(Emitter &e, const BoundCall &call) {
  const Value &check = call["boundary_check"];
  bool isEmpty = check.isNone() || (check.isTuple() && check.elements().empty());
  if (!isEmpty)
    e.error(call.at("boundary_check"), "`boundary_check` is for block pointers only");
  if (call.row->name != "load" || !isEmpty)
    return isEmpty;
  const Value &padding = call["padding_option"];
  auto *name = padding.dynAs<std::string>();
  const bool isUnset = padding.isNone() || (name && name->empty());
  if (!isUnset)
    e.error(call.at("padding_option"), "`padding_option` is for block pointers only");
  return isUnset;
}

/// `mask` as int1 in `shape`; nothing for None.
struct Mask {
  bool isValid = false;
  mlir::Value ir;
};
Mask maskIn(Emitter &e, const Value &mask, SourceSpan span, const Shape &shape) {
  if (mask.isNone())
    return {true, {}};
  auto flag = e.toBool(mask, span);
  return flag ? Mask{true, e.broadcastTo(*flag, shape).ir} : Mask();
}

std::optional<Shape> commonShape(Emitter &e, const Runtime &pointer, const Value &other,
                                 SourceSpan span, const char *what) {
  auto *tile = other.dynAs<Runtime>();
  if (!tile && !other.isComplex())
    return pointer.type.shape;
  auto shape =
      broadcastShapes(pointer.type.shape, tile ? tile->type.shape : complexType(other).shape);
  if (!shape)
    e.error(span, std::string("cannot broadcast the ") + what + " " + kindText(other) +
                      " to the pointers `" + pointer.type.name() + "`");
  return shape;
}

/// The element type in memory: a bool takes a byte.
DType storageType(DType pointee) {
  return pointee.isBool() ? DType(Scalar::I8) : pointee.isComplex() ? DType(Scalar::U64) : pointee;
}

/// `value` as memory holds a `pointee`.
std::optional<Runtime> inMemory(Emitter &e, const Value &value, DType pointee, SourceSpan span) {
  if (pointee.isComplex()) {
    auto parts = complexParts(e, value, span, /*isCast=*/true);
    return parts ? std::optional(complexBits(e, *parts, span)) : std::nullopt;
  }
  auto cast = e.converted(value, pointee, span);
  return cast ? e.cast(*cast, storageType(pointee), span) : std::nullopt;
}
} // namespace

Value pantile::emitLoad(Emitter &e, const BoundCall &call) {
  if (call["pointer"].isStruct(StructKind::BlockPointer)) {
    std::optional<BoundCall> plain = loadThroughPointers(e, call);
    return plain ? emitLoad(e, *plain) : Value(Failed());
  }
  auto pointer = needPointer(e, call["pointer"], call.at("pointer"), "`load`");
  auto cache = cacheOf(e, call, true);
  auto eviction = evictionOf(e, call);
  auto isVolatile = e.needBool(call["volatile"], call.at("volatile"), "`volatile`");
  if (!pointer || !cache || !eviction || !isVolatile || !refuseBlockPointers(e, call))
    return Failed();
  const Value &mask = call["mask"], &other = call["other"];
  if (mask.isNone() && !other.isNone())
    return e.error(call.at("other"), "`other` cannot be provided without `mask`");
  for (auto [value, name] : {std::pair{&mask, "mask"}, {&other, "other"}}) {
    auto shape = commonShape(e, *pointer, *value, call.at(name), name);
    if (!shape)
      return Failed();
    pointer = e.broadcastTo(*pointer, *shape);
  }
  DType pointee = pointer->type.element.pointee(), stored = storageType(pointee);
  Mask flags = maskIn(e, mask, call.at("mask"), pointer->type.shape);
  if (!flags.isValid)
    return Failed();
  mlir::Value otherIr;
  if (!other.isNone()) {
    auto fill = inMemory(e, other, pointee, call.at("other"));
    if (!fill)
      return Failed();
    otherIr = e.broadcastTo(*fill, pointer->type.shape).ir;
  }
  Type type = pointer->type.withElement(stored);
  Runtime loaded{LoadOp::create(e.b, e.loc(), e.irType(type), pointer->ir, flags.ir, otherIr,
                                *cache, *eviction, *isVolatile),
                 type};
  return pointee.isComplex() ? complexOfBits(e, loaded, call.span)
                             : Value(*e.cast(loaded, pointee, call.span));
}

Value pantile::emitStore(Emitter &e, const BoundCall &call) {
  if (call["pointer"].isStruct(StructKind::BlockPointer)) {
    std::optional<BoundCall> plain = storeThroughPointers(e, call);
    return plain ? emitStore(e, *plain) : Value(Failed());
  }
  auto pointer = needPointer(e, call["pointer"], call.at("pointer"), "`store`");
  auto cache = cacheOf(e, call, false);
  auto eviction = evictionOf(e, call);
  if (!pointer || !cache || !eviction || !refuseBlockPointers(e, call))
    return Failed();
  DType element = pointer->type.element, pointee = element.pointee();
  if (element.isConst)
    return e.error(call.at("pointer"), "cannot store through a pointer to const" +
                                           inTriton("Cannot store to a constant pointer"));
  const Value &input = call["value"];
  SourceSpan at = call.at("value");
  auto written = inMemory(e, input, pointee, at);
  if (!written)
    return Failed();
  const std::string argument = " argument cannot be block type if pointer argument is not a block";
  for (auto [operand, name] : {std::pair{&input, "value"}, {&call["mask"], "mask"}}) {
    auto shape = commonShape(e, *pointer, *operand, call.at(name), name);
    if (!shape)
      return Failed();
    if (*shape != pointer->type.shape)
      return e.error(call.at(name),
                     std::string("the ") + name + " " + kindText(*operand) +
                         " does not broadcast to the pointers `" + pointer->type.name() + "`" +
                         (pointer->type.isTile()
                              ? ""
                              : "; offsets added to a pointer make a tile" +
                                    inTriton((operand == &input ? "Value" : "Mask") + argument)));
  }
  Mask flags = maskIn(e, call["mask"], call.at("mask"), pointer->type.shape);
  if (!flags.isValid)
    return Failed();
  StoreOp::create(e.b, e.loc(), pointer->ir, e.broadcastTo(*written, pointer->type.shape).ir,
                  flags.ir, *cache, *eviction);
  return None();
}
