//===- EmitStruct.cpp - objects with named parts ----------------------------------------------===//
// Needs: the classes of the program: named tuples and aggregates.
// Gives: their construction, fields, methods and copies with some fields replaced; the
//        attributes of all structured values.
// How:   An aggregate's `__init__` is emitted as a call whose first variable is an object with
//        empty fields; assigning one of them puts a changed copy into the variable. Objects never
//        change after that. Reading an empty field is an error at the read.
//===------------------------------------------------------------------------------------===//
#include "frontend/BlockPointer.h"
#include "frontend/Complex.h"
#include "frontend/Descriptor.h"

using namespace pantile;
using llvm::StringRef;

namespace {
using Defect = std::shared_ptr<const DefectValue>;

std::optional<size_t> fieldIndex(llvm::ArrayRef<std::string> fields, StringRef name) {
  auto found = llvm::find(fields, name);
  return found == fields.end() ? std::nullopt : std::optional<size_t>(found - fields.begin());
}

std::vector<std::string> fieldNames(const ClassSource &cls) {
  std::vector<std::string> names;
  for (const ClassSource::Field &field : cls.fields)
    names.push_back(field.name);
  return names;
}

Value emptyField(const ClassSource &cls, StringRef name) {
  DefectValue defect;
  defect.message = "`" + name.str() + "` of `" + cls.name + "` is read before it is set";
  return std::make_shared<const DefectValue>(std::move(defect));
}

StructKind kindOf(const ClassSource &cls) {
  return cls.isAggregate ? StructKind::Aggregate : StructKind::Tuple;
}

Value blockPointerAttribute(const Value &pointer, StringRef name) {
  if (name == "dtype" || name == "type")
    return TypeValue{pointedType(pointer), /*isPointer=*/true};
  if (name == "advance" || name == "load" || name == "store")
    return MethodValue{std::make_shared<Value>(pointer), name.str()};
  return Failed();
}

/// What goes into a field: a constexpr one takes a compile-time value, others hold run-time
/// scalars where numbers are given.
Value asField(Emitter &e, const ClassSource &cls, size_t index, const Value &value,
              SourceSpan span) {
  const ClassSource::Field &field = cls.fields[index];
  if (!cls.isAggregate)
    return value;
  if (!field.isConstexpr)
    return e.stored(value, span);
  std::optional<Value> known = e.knownValue(value);
  if (known || value.failed())
    return known.value_or(Failed());
  return e.error(span, "`" + field.name + "` of `" + cls.name + "` is a constexpr, got " +
                           kindText(value));
}
} // namespace

Value Emitter::fromProgram(const ConstValue &value) { return fromSnapshot(value, program.classes); }

Value Emitter::memberOf(const ClassSource &cls, StringRef name, SourceSpan span) {
  auto found = cls.members.find(name.str());
  return found == cls.members.end() ? Value(Failed())
                                    : resolveSnapshot(fromProgram(found->second), span);
}

Value Emitter::structAttribute(const Value &value, StringRef name, SourceSpan span, bool quiet) {
  const TupleValue &parts = *value.as<TupleRef>();
  Value result;
  if (parts.kind == StructKind::BlockPointer) {
    result = blockPointerAttribute(value, name);
  } else if (parts.kind == StructKind::Descriptor) {
    result = descriptorAttribute(*this, value, name);
  } else if (parts.kind == StructKind::Complex) {
    result = complexAttribute(*this, value, name);
  } else if (auto index = fieldIndex(parts.fields, name)) {
    if (auto *defect = parts.elements[*index].dynAs<Defect>())
      return quiet ? Value(Failed()) : error(span, (*defect)->message);
    return parts.elements[*index];
  } else if (name == "_replace" && !parts.fields.empty()) {
    return MethodValue{std::make_shared<Value>(value), name.str()};
  } else if (parts.cls) {
    result = memberOf(*parts.cls, name, span);
    bool isProperty = llvm::is_contained(parts.cls->properties, name.str());
    if (isProperty && !result.failed())
      return call(result, {{value, span, {}, {}}}, span);
    if (result.is<FunctionValue>() && !llvm::is_contained(parts.cls->staticMembers, name.str()))
      return MethodValue{std::make_shared<Value>(value), name.str()};
  }
  if (result.failed() && value.isTuple() && name == "type") {
    std::vector<Value> types;
    for (const Value &element : parts.elements)
      types.push_back(attribute(element, "type", span, quiet));
    return Value::tuple(std::move(types));
  }
  if (result.failed() && name == "value" && value.isTuple())
    return value;
  if (result.failed() && !quiet)
    return error(span, "a " + kindText(value) + " has no attribute `" + name.str() + "`" +
                           (value.isTuple() && (name == "append" || name == "extend")
                                ? "; lists do not grow in place, `values + (x,)` is a longer one"
                                : ""));
  return result;
}

Value Emitter::callStructMethod(const MethodValue &method, llvm::ArrayRef<CallArg> args,
                                SourceSpan span) {
  const Value &self = *method.self;
  llvm::SmallVector<CallArg, 8> all{{self, span, {}, {}}};
  all.append(args.begin(), args.end());
  if (self.isStruct(StructKind::BlockPointer) || self.isComplex())
    return callBuiltin(*findBuiltin("tl", method.name), all, span);
  if (self.isStruct(StructKind::Descriptor))
    return callBuiltin(*findBuiltin("desc", method.name), all, span);
  if (method.name == "_replace")
    return callBuiltin(*findBuiltin("tl", "aggregate_replace"), all, span);
  return call(memberOf(*self.as<TupleRef>()->cls, method.name, span), all, span);
}

Value Emitter::construct(const ClassSource &cls, llvm::ArrayRef<CallArg> args, SourceSpan span) {
  if (cls.isAggregate && cls.members.contains("__init__"))
    return constructAggregate(cls, args, span);
  std::vector<Value> elements(cls.fields.size());
  std::vector<bool> isGiven(cls.fields.size(), false);
  std::string name = "`" + cls.name + "`";
  size_t next = 0;
  for (const CallArg &arg : args) {
    auto known = llvm::find_if(cls.fields, [&](auto &f) { return f.name == arg.keyword; });
    size_t slot = arg.keyword.empty() ? next++ : known - cls.fields.begin();
    if (slot >= cls.fields.size())
      return arg.keyword.empty()
                 ? error(arg.span, name + " has " + std::to_string(cls.fields.size()) +
                                       " fields, got " + std::to_string(args.size()) + " values")
                 : error(arg.keywordSpan, name + " has no field `" + arg.keyword.str() + "`");
    if (isGiven[slot])
      return error(arg.span, name + " got two values for `" + cls.fields[slot].name + "`");
    isGiven[slot] = true;
    elements[slot] = asField(*this, cls, slot, arg.value, arg.span);
    if (elements[slot].failed())
      return Failed();
  }
  for (auto [i, field] : llvm::enumerate(cls.fields)) {
    if (!isGiven[i] && !field.value)
      return error(span, name + " lacks a value for `" + field.name + "`");
    if (!isGiven[i])
      elements[i] = resolveSnapshot(fromProgram(*field.value), span);
  }
  return Value::structure({std::move(elements), fieldNames(cls), kindOf(cls), &cls});
}

Value Emitter::constructAggregate(const ClassSource &cls, llvm::ArrayRef<CallArg> args,
                                  SourceSpan span) {
  Value init = memberOf(cls, "__init__", span);
  auto *function = init.dynAs<FunctionValue>();
  if (!function)
    return error(span, "`" + cls.name + ".__init__` cannot be compiled");
  std::vector<Value> empty;
  for (const ClassSource::Field &field : cls.fields)
    empty.push_back(emptyField(cls, field.name));
  Value self = Value::structure({std::move(empty), fieldNames(cls), StructKind::Aggregate, &cls});
  llvm::SmallVector<CallArg, 8> all{{self, span, {}, {}}};
  all.append(args.begin(), args.end());
  Value object = callFunction(*function, all, span, &cls);
  if (object.failed())
    return object;
  for (auto [field, value] : llvm::zip(cls.fields, object.elements())) {
    if (value.failed())
      return Failed();
    if (value.is<Defect>())
      return error(span, "the constructor of `" + cls.name + "` does not set `" + field.name + "`");
  }
  return object;
}

bool Emitter::assignField(const ast::Attribute &target, const Value &value) {
  auto *name = llvm::dyn_cast<ast::Name>(target.value.get());
  const ClassSource *cls = frame->constructs;
  const auto &params = frame->function->def->params;
  if (!cls || !name || params.empty() || params.front().name != name->id)
    return false;
  Variable &self = frame->variables[name->id];
  auto index = fieldIndex(self.value.as<TupleRef>()->fields, target.attr);
  if (!index) {
    error(target.attrSpan, "`" + cls->name + "` has no field `" + target.attr +
                               "`; its annotations name the fields");
    return true;
  }
  std::vector<Value> elements = self.value.elements();
  elements[*index] = asField(*this, *cls, *index, value, target.span);
  self = {self.value.withElements(std::move(elements)), target.span, nextVersion++};
  return true;
}

Value pantile::emitReplaceFields(Emitter &e, const BoundCall &call) {
  const Value &object = call["instance"];
  if (!object.isStruct() || object.as<TupleRef>()->fields.empty())
    return object.failed() ? object
                           : e.error(call.at("instance"),
                                     "`" + call.row->name + "` needs an object with fields, got " +
                                         kindText(object));
  const TupleValue &old = *object.as<TupleRef>(), &changes = *call["changes"].as<TupleRef>();
  std::vector<Value> elements = old.elements;
  for (auto [name, value] : llvm::zip(changes.fields, changes.elements)) {
    auto index = fieldIndex(old.fields, name);
    if (!index)
      return e.error(call.at("changes"), "a " + kindText(object) + " has no field `" + name + "`");
    elements[*index] = old.cls ? asField(e, *old.cls, *index, value, call.at("changes")) : value;
    if (elements[*index].failed())
      return Failed();
  }
  return object.withElements(std::move(elements));
}
