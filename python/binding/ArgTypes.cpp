//===- ArgTypes.cpp - see ArgTypes.h ------------------------------------------------------===//
#include "ArgTypes.h"

namespace py = pybind11;

namespace pantile::python {

static py::object typeOfTuple(const std::vector<ArgSpec> &elements) {
  py::tuple result(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    result[i] = typeOf(elements[i]);
  return result;
}

static std::string typeOfDescriptor(const ArgSpec &spec) {
  std::string shape;
  for (int64_t extent : spec.blockShape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return "tensordesc<" + spec.dtype + "[" + shape + "]>";
}

py::object typeOf(const ArgSpec &spec) {
  const std::string aligned = spec.divisibility == 16 ? ":16" : "";
  switch (spec.kind) {
  case ArgSpec::Kind::Pointer:
    return py::str((spec.constPointer ? "*k" : "*") + spec.dtype + aligned);
  case ArgSpec::Kind::Scalar:
    return py::str(spec.dtype + aligned);
  case ArgSpec::Kind::Tuple:
    return typeOfTuple(spec.elements);
  case ArgSpec::Kind::Descriptor:
    return py::str(typeOfDescriptor(spec));
  case ArgSpec::Kind::Constant:
    break;
  }
  return py::str("constexpr");
}

} // namespace pantile::python
