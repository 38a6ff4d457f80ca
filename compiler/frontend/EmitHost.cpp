//===- EmitHost.cpp - calls that leave the kernel for the host while compiling ----------===//
// Needs: a function of the program with a HostCall; evaluated arguments.
// Gives: what the host function returned, as a compile-time value.
// How:   Arguments and result are converted to values of the program's snapshot, so that the front
//        end does not depend on the language that the function is written in.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"

using namespace pantile;

namespace {
/// Converts compile-time values into those of a snapshot.
struct SnapshotWriter {
  Emitter &e;
  const std::vector<ClassSource> &classes;

  std::optional<ConstValue> convert(const Value &value) const;
  std::optional<ConstValue> convertParts(const TupleValue &parts) const;
};

/// An aggregate may have run-time fields: its methods see that they are there, no more.
std::optional<ConstValue> SnapshotWriter::convertParts(const TupleValue &parts) const {
  auto result = std::make_shared<ConstTuple>();
  for (const Value &element : parts.elements) {
    std::optional<Value> known = e.knownValue(element);
    std::optional<ConstValue> converted = known ? convert(*known) : std::nullopt;
    if (!converted && parts.kind == StructKind::Aggregate)
      converted = OpaqueRef{"a run-time value"};
    if (!converted)
      return std::nullopt;
    result->elements.push_back(std::move(*converted));
  }
  result->fields = parts.fields;
  if (parts.cls)
    result->classIndex = size_t(parts.cls - classes.data());
  return std::shared_ptr<const ConstTuple>(std::move(result));
}

/// The snapshot's form of a compile-time value; none of what only a kernel has.
std::optional<ConstValue> SnapshotWriter::convert(const Value &value) const {
  if (value.isNone())
    return ConstValue(std::monostate{});
  if (auto *flag = value.dynAs<bool>())
    return ConstValue(*flag);
  if (auto *integer = value.dynAs<BigInt>()) {
    const auto narrow = static_cast<int64_t>(*integer);
    if (BigInt(narrow) == *integer)
      return ConstValue(narrow);
    const auto positive = static_cast<uint64_t>(*integer);
    return BigInt(positive) == *integer ? std::optional<ConstValue>(positive) : std::nullopt;
  }
  if (auto *real = value.dynAs<double>())
    return ConstValue(*real);
  if (auto *text = value.dynAs<std::string>())
    return ConstValue(*text);
  if (auto *dtype = value.dynAs<DType>())
    return ConstValue(DTypeName{dtype->shortName()});
  if (auto complex = value.isComplex() ? complexConstant(value) : std::nullopt)
    return ConstValue(*complex);
  if (value.isTuple() || value.isStruct(StructKind::Aggregate))
    return convertParts(*value.as<TupleRef>());
  if (auto *function = value.dynAs<FunctionValue>())
    return function->inLibrary ? std::nullopt
                               : std::optional<ConstValue>(FunctionRef{function->index});
  if (auto *builtin = value.dynAs<BuiltinValue>())
    return ConstValue(BuiltinRef{builtin->row->name});
  if (auto *module = value.dynAs<ModuleValue>())
    return ConstValue(BuiltinRef{module->prefix});
  if (auto *type = value.dynAs<ClassValue>())
    return type->source ? ConstValue(ClassRef{size_t(type->source - classes.data())})
                        : ConstValue(BuiltinRef{type->name});
  return std::nullopt;
}
} // namespace

Value Emitter::callHost(const FunctionValue &function, llvm::ArrayRef<CallArg> args,
                        SourceSpan span) {
  const FunctionSource &source = program.functions[function.index];
  std::vector<ConstValue> values;
  std::vector<std::string> names;
  const SnapshotWriter writer{*this, program.classes};
  for (const CallArg &arg : args) {
    std::optional<Value> known = knownValue(arg.value);
    std::optional<ConstValue> value = known ? writer.convert(*known) : std::nullopt;
    if (!value)
      return error(arg.span, "`" + source.name +
                                 "` runs while compiling and takes compile-time values, got " +
                                 kindText(arg.value));
    values.push_back(std::move(*value));
    if (!arg.keyword.empty())
      names.push_back(arg.keyword.str());
  }
  Result<ConstValue> result = source.host(values, names);
  if (!result)
    return error(span, result.error().message, result.error().kind);
  return resolveSnapshot(fromProgram(*result), span);
}
