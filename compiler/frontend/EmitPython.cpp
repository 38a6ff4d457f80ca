//===- EmitPython.cpp - Python's own functions, and host functions on constants ---------===//
#include "frontend/Complex.h"
#include "frontend/PythonFunctions.h"

using namespace pantile;
using llvm::StringRef;

Value pantile::emitPythonMinMax(Emitter &e, const BoundCall &call) {
  bool isMax = call.row->name == "max";
  const Value &star = call["args"];
  bool isNested = star.elements().size() == 1 && star.elements()[0].isTuple();
  const auto &items = isNested ? star.elements()[0].elements() : star.elements();
  if (items.empty())
    return e.error(call.span, "`" + call.row->name + "` needs an argument");
  Value best = items[0];
  for (const Value &item : llvm::drop_begin(items)) {
    if (best.isNumber() && item.isNumber()) {
      auto op = isMax ? ast::CompareOp::Gt : ast::CompareOp::Lt;
      best = foldOrder(op, item, best).value_or(false) ? item : best;
    } else {
      best = e.minMax(isMax, best, item, call.span, false);
    }
    if (best.failed())
      return best;
  }
  return best;
}

Value pantile::emitLen(Emitter &e, const BoundCall &call) {
  const Value &object = call["obj"];
  if (object.isTuple())
    return BigInt(object.elements().size());
  if (auto *text = object.dynAs<std::string>())
    return BigInt(text->size());
  if (auto *tile = object.dynAs<Runtime>(); tile && tile->type.isTile())
    return BigInt(tile->type.shape[0]);
  if (object.isComplex() && complexType(object).isTile())
    return BigInt(complexType(object).shape[0]);
  return e.error(call.span, "a " + kindText(object) + " has no length");
}

namespace {
bool isTypeValue(const Value &value) {
  return value.is<DType>() || value.is<TypeValue>() ||
         (value.isTuple() && llvm::all_of(value.elements(), isTypeValue));
}

bool isInstance(const Value &object, const ClassValue &type) {
  if (type.source)
    return object.isStruct() && object.as<TupleRef>()->cls == type.source;
  StringRef name = type.name;
  if (name == "tensor")
    return object.isRuntime() || object.isStruct(StructKind::BlockPointer) ||
           (object.isComplex() && !complexConstant(object));
  if (name == "tensor_descriptor" || name == "tensor_descriptor_base")
    return object.isStruct(StructKind::Descriptor);
  if (name == "constexpr")
    return object.isComplex() ? complexConstant(object).has_value()
                              : !object.isRuntime() && !object.isStruct();
  if (name == "int")
    return object.is<BigInt>() || object.is<bool>();
  if (name == "float")
    return object.is<double>();
  if (name == "bool")
    return object.is<bool>();
  if (name == "str")
    return object.is<std::string>();
  if (name == "tuple")
    return object.isTuple();
  if (name == "tuple_type") // `x.type` of a tuple is the tuple of its elements' types
    return object.isTuple() && llvm::all_of(object.elements(), isTypeValue);
  return name == "dtype" && (object.is<DType>() || object.is<TypeValue>());
}

/// `tl.pointer_type` and `tl.block_type` make types when called and are classes of types here.
std::optional<bool> isTypeOf(const Value &object, const Value &maker) {
  auto *builtin = maker.dynAs<BuiltinValue>();
  if (!builtin || (builtin->row->name != "pointer_type" && builtin->row->name != "block_type"))
    return std::nullopt;
  if (builtin->row->name == "block_type")
    return object.is<TypeValue>();
  auto *dtype = object.dynAs<DType>();
  return dtype && dtype->isPointer();
}
} // namespace

Value pantile::emitIsInstance(Emitter &e, const BoundCall &call) {
  const Value &classes = call["classes"];
  std::vector<Value> list = classes.isTuple() ? classes.elements() : std::vector<Value>{classes};
  bool result = false;
  for (const Value &item : list) {
    if (auto known = isTypeOf(call["obj"], item)) {
      result |= *known;
      continue;
    }
    auto *type = item.dynAs<ClassValue>();
    if (!type)
      return e.error(call.at("classes"), "`isinstance` takes classes, got a " + kindText(item));
    result |= isInstance(call["obj"], *type);
  }
  return result;
}

Value pantile::emitGetAttr(Emitter &e, const BoundCall &call) {
  auto name = e.needString(call["name"], call.at("name"), "the name of an attribute");
  if (!name)
    return Failed();
  const auto &fallback = call["default"].elements();
  Value found = e.attribute(call["obj"], *name, call.span, /*quiet=*/!fallback.empty());
  return found.failed() && !fallback.empty() ? fallback[0] : found;
}

Value pantile::emitHasAttr(Emitter &e, const BoundCall &call) {
  auto name = e.needString(call["name"], call.at("name"), "the name of an attribute");
  if (!name)
    return Failed();
  return !e.attribute(call["obj"], *name, call.span, /*quiet=*/true).failed();
}

namespace {
/// `function` of the constant `x`, or the error that Python raises.
Value callOnConstant(Emitter &e, const BoundCall &call, const char *parameter, const Number &x) {
  const std::string module = call.row->name == "next_power_of_2" ? "triton." : "math.";
  const FoldedNumber folded = foldCall(module + call.row->name, x);
  return folded.value ? std::visit([](auto number) { return Value(number); }, *folded.value)
                      : e.error(call.at(parameter), folded.error);
}
} // namespace

Value pantile::emitNextPowerOf2(Emitter &e, const BoundCall &call) {
  auto number = e.needInt(call["n"], call.at("n"), "`n`");
  return number ? callOnConstant(e, call, "n", *number) : Failed();
}

Value pantile::emitHostMath(Emitter &e, const BoundCall &call) {
  auto known = e.knownValue(call["x"]);
  auto x = known ? constantDouble(*known) : std::nullopt;
  const std::string &name = call.row->name;
  if (!x)
    return e.error(call.at("x"), "`math." + name + "` takes a compile-time number, got " +
                                     kindText(call["x"]) + "; `tl." + name +
                                     "` takes run-time values");
  const auto *whole = known->dynAs<BigInt>();
  return callOnConstant(e, call, "x", whole ? Number(*whole) : Number(*x));
}
