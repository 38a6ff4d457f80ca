//===- LaunchKey.cpp - the specialisation for one argument --------------------------------===//
// How:   Ints equal to 1, None and constexpr parameters are constants; ints and addresses are
//        specialised if 16 divides them, unless the parameter opts out; a tuple is its parts.
//===-----------------------------------------------------------------------------------===//
#include "LaunchKey.h"
#include "Values.h"

namespace py = pybind11;

namespace pantile::python {
namespace {

bool isMultipleOf16(const Argument &argument, const Parameter &parameter) {
  if (!parameter.specializeAlignment)
    return false;
  if (argument.kind == Argument::Kind::Pointer)
    return argument.launch.pointer % 16 == 0;
  return argument.kind == Argument::Kind::Int && parameter.specializeValue &&
         argument.launch.integer % 16 == 0;
}

/// An int equal to 1 is compiled in, unless its parameter opts out.
bool isConstantOne(const Argument &argument, const Parameter &parameter) {
  return argument.kind == Argument::Kind::Int && argument.launch.integer == 1 &&
         parameter.specializeValue && parameter.fixedType.empty();
}

bool isConstant(const Argument &argument, const Parameter &parameter) {
  return parameter.isConstexpr || argument.kind == Argument::Kind::None ||
         argument.kind == Argument::Kind::Constant || isConstantOne(argument, parameter);
}

/// Whether the last size of a descriptor is a multiple of 16: then whole vectors are inside or
/// outside.
bool hasWideRows(const Structure &descriptor, const Parameter &parameter) {
  return parameter.specializeAlignment &&
         descriptor.extents[descriptor.blockShape.size() - 1].integer % 16 == 0;
}

ArgSpec specOfStructure(const Argument &argument, const Parameter &parameter,
                        const py::function &toConstant) {
  const Structure &parts = *argument.structure;
  ArgSpec spec;
  if (argument.kind == Argument::Kind::Descriptor) {
    spec.kind = ArgSpec::Kind::Descriptor;
    spec.dtype = argument.dtype;
    spec.blockShape = parts.blockShape;
    spec.padsWithNan = parts.padsWithNan;
    spec.divisibility = hasWideRows(parts, parameter) ? 16 : 1;
    return spec;
  }
  spec.kind = ArgSpec::Kind::Tuple;
  spec.fields = parts.fields;
  for (size_t i = 0; i < parts.elements.size(); ++i)
    spec.elements.push_back(specOf(parts.elements[i], parameter, parts.values[i], toConstant));
  if (parts.cls) {
    const ConstValue cls = toConstValue(toConstant(parts.cls));
    if (const auto *reference = std::get_if<ClassRef>(&cls))
      spec.classIndex = reference->index;
  }
  return spec;
}

void appendStructureKey(std::string &key, const Argument &argument, const Parameter &parameter) {
  const Structure &parts = *argument.structure;
  if (argument.kind == Argument::Kind::Descriptor) {
    key += std::string(parts.padsWithNan ? "nan<" : "desc<") + argument.dtype;
    for (int64_t extent : parts.blockShape)
      key += ',' + std::to_string(extent);
    key += hasWideRows(parts, parameter) ? ">D" : ">";
    return;
  }
  key += '(';
  for (size_t i = 0; i < parts.elements.size(); ++i) {
    appendKey(key, parts.elements[i], parameter, parts.values[i]);
    key += ',';
  }
  key += ')';
  for (const std::string &field : parts.fields)
    key += field + ',';
  if (parts.cls)
    key += py::str(parts.cls.attr("__module__")).cast<std::string>() + '.' +
           py::str(parts.cls.attr("__qualname__")).cast<std::string>();
}

} // namespace

ArgSpec specOf(const Argument &argument, const Parameter &parameter, py::handle value,
               const py::function &toConstant) {
  if (argument.structure && !parameter.isConstexpr)
    return specOfStructure(argument, parameter, toConstant);
  ArgSpec spec;
  if (isConstantOne(argument, parameter) && !parameter.isConstexpr) {
    spec.value = int64_t{1};
    return spec;
  }
  if (isConstant(argument, parameter)) {
    spec.value = toConstValue(toConstant(value));
    return spec;
  }
  const bool pointer = argument.kind == Argument::Kind::Pointer;
  spec.kind = pointer ? ArgSpec::Kind::Pointer : ArgSpec::Kind::Scalar;
  spec.dtype = argument.dtype;
  spec.constPointer = pointer && parameter.constPointer;
  spec.divisibility = isMultipleOf16(argument, parameter) ? 16 : 1;
  return spec;
}

void appendKey(std::string &key, const Argument &argument, const Parameter &parameter,
               py::handle value) {
  if (argument.structure && !parameter.isConstexpr) {
    appendStructureKey(key, argument, parameter);
  } else if (isConstantOne(argument, parameter) && !parameter.isConstexpr) {
    key += "one";
  } else if (isConstant(argument, parameter)) {
    naming(parameter, [&] { appendConstantKey(key, value); });
  } else {
    key += argument.kind == Argument::Kind::Pointer ? "*" : "";
    key += argument.dtype;
    key += isMultipleOf16(argument, parameter) ? "D" : "";
  }
}

} // namespace pantile::python
