//===- Arguments.cpp - classification of launch arguments --------------------------------===//
// How: The type of an object determines which protocol reads it; the decision is cached by type.
//      torch-like objects (`data_ptr()` and `dtype`) are checked before the array protocols, which
//      a torch tensor supports, too, but slower. NumPy scalars are numbers, not arrays.
// Invariant: types and dtype objects in the tables are kept alive, so that no address is
//      used twice.
//===-----------------------------------------------------------------------------------===//
#include "Arguments.h"
#include "ArrayProtocols.h"
#include "TableLock.h"
#include <array>
#include <bit>
#include <limits>
#include <pybind11/stl.h>
#include <unordered_map>
#include <utility>

namespace py = pybind11;

namespace pantile::python {
namespace {

bool typeHas(py::handle type, const char *name) {
  return PyObject_HasAttrString(type.ptr(), name) == 1;
}

/// Whether `type` or a base of it is the class `name` of `module`, without importing the module.
bool derivesFrom(PyTypeObject *type, std::string_view module, std::string_view name) {
  for (py::handle base : py::reinterpret_borrow<py::tuple>(type->tp_mro)) {
    const auto baseModule =
        py::str(py::getattr(base, "__module__", py::str(""))).cast<std::string>();
    if (baseModule == module && py::str(base.attr("__name__")).cast<std::string>() == name)
      return true;
  }
  return false;
}

/// A host descriptor is recognised by its attributes, which only an object has.
bool isDescriptor(py::handle object) {
  for (const char *name : {"base", "shape", "strides", "block_shape"})
    if (!typeHas(object, name))
      return false;
  return true;
}

Protocol protocolOfType(PyTypeObject *type, py::handle object) {
  const py::handle handle(reinterpret_cast<PyObject *>(type));
  if (derivesFrom(type, "numpy", "generic"))
    return Protocol::NumpyScalar;
  if (derivesFrom(type, "numpy", "ndarray"))
    return Protocol::Numpy;
  if (typeHas(handle, "data_ptr"))
    return Protocol::TorchLike;
  if (typeHas(handle, "__cuda_array_interface__"))
    return Protocol::CudaArray;
  if (typeHas(handle, "__dlpack_device__"))
    return Protocol::DLPack;
  if (typeHas(handle, "__array_interface__"))
    return Protocol::HostArray;
  if (typeHas(handle, "__triton_aggregate__"))
    return Protocol::Aggregate;
  return isDescriptor(object) ? Protocol::Descriptor : Protocol::Constant;
}

Protocol protocolOfObject(py::handle object) {
  PyTypeObject *type = Py_TYPE(object.ptr());
  static auto *known = new std::unordered_map<PyTypeObject *, Protocol>();
  static TableLock::Mutex mutex;
  {
    const TableLock lock(mutex);
    if (auto found = known->find(type); found != known->end())
      return found->second;
  }
  const Protocol protocol = protocolOfType(type, object);
  // Of the object alone, as a wrapper written by hand has it: others of its type may be without.
  if (protocol == Protocol::Constant && typeHas(object, "__cuda_array_interface__"))
    return Protocol::CudaArray;
  const TableLock lock(mutex);
  // Bounded, for programs that create types without end.
  if (known->size() < 1024 && known->emplace(type, protocol).second)
    Py_INCREF(type);
  return protocol;
}

Argument integer(py::handle object) {
  Argument argument;
  argument.kind = Argument::Kind::Int;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow) {
    const unsigned long long bits = overflow > 0 ? PyLong_AsUnsignedLongLong(object.ptr()) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
      PyErr_Clear();
      PyErr_SetString(PyExc_OverflowError, "the integer fits neither int64 nor uint64");
      throw py::error_already_set();
    }
    argument.dtype = "u64";
    argument.launch = LaunchArg::i(std::bit_cast<int64_t>(bits));
    return argument;
  }
  const bool fits32 =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  argument.dtype = fits32 ? "i32" : "i64";
  argument.launch = LaunchArg::i(value);
  return argument;
}

void addElement(Structure &structure, py::object value) {
  structure.elements.push_back(classify(value));
  structure.values.push_back(std::move(value));
}

Argument structured(Argument::Kind kind, Structure parts) {
  Argument argument;
  argument.kind = kind;
  argument.structure = std::make_shared<const Structure>(std::move(parts));
  return argument;
}

Argument tuple(py::handle object) {
  Structure parts;
  for (py::handle element : py::reinterpret_borrow<py::sequence>(object))
    addElement(parts, py::reinterpret_borrow<py::object>(element));
  if (!PyTuple_CheckExact(object.ptr()) && py::hasattr(object, "_fields")) {
    parts.fields = object.attr("_fields").cast<std::vector<std::string>>();
    parts.cls = py::type::of(object);
  }
  return structured(Argument::Kind::Tuple, std::move(parts));
}

/// A field that is annotated constexpr is a constant; the others are classified like arguments.
Argument aggregate(py::handle object) {
  Structure parts;
  parts.cls = py::type::of(object);
  for (py::handle item : parts.cls.attr("__triton_aggregate__")) {
    const auto field = py::reinterpret_borrow<py::tuple>(item);
    parts.fields.push_back(field[0].cast<std::string>());
    addElement(parts, object.attr(field[0]));
    if (field[1].cast<bool>()) {
      parts.elements.back() = Argument();
      parts.elements.back().kind = Argument::Kind::Constant;
    }
  }
  return structured(Argument::Kind::Tuple, std::move(parts));
}

/// An int, or an object that Python accepts as one.
int64_t extentOf(py::handle value) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index)
    throw py::error_already_set();
  return index.cast<int64_t>();
}

Argument descriptor(py::handle object) {
  Structure parts;
  addElement(parts, object.attr("base"));
  if (parts.elements[0].kind != Argument::Kind::Pointer)
    throw py::type_error("the base of a tensor descriptor must be an array");
  for (const char *name : {"shape", "strides"})
    for (py::handle extent : object.attr(name))
      parts.extents.push_back(LaunchArg::i(extentOf(extent)));
  for (py::handle extent : object.attr("block_shape"))
    parts.blockShape.push_back(extentOf(extent));
  if (parts.blockShape.empty() || parts.extents.size() != 2 * parts.blockShape.size())
    throw py::value_error("shape, strides and block shape of a tensor descriptor differ in length");
  if (parts.extents.back().integer != 1)
    throw py::value_error("the last stride of a tensor descriptor must be 1");
  if (typeHas(object, "padding"))
    parts.padsWithNan = py::str(object.attr("padding")).cast<std::string>() == "nan";
  Argument argument = structured(Argument::Kind::Descriptor, std::move(parts));
  argument.dtype = argument.structure->elements[0].dtype;
  return argument;
}

Argument scalar(Argument::Kind kind, const char *dtype, LaunchArg launch) {
  Argument argument;
  argument.kind = kind, argument.dtype = dtype, argument.launch = launch;
  return argument;
}

} // namespace

Protocol protocolOf(py::handle object) {
  PyTypeObject *type = Py_TYPE(object.ptr());
  if (type == &PyLong_Type)
    return Protocol::Int;
  if (type == &PyFloat_Type)
    return Protocol::Float;
  if (type == &PyBool_Type)
    return Protocol::Bool;
  if (object.is_none())
    return Protocol::None;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()))
    return Protocol::Tuple;
  if (type == &PyUnicode_Type)
    return Protocol::Constant;
  if (PyLong_Check(object.ptr()))
    return Protocol::Int;
  if (PyFloat_Check(object.ptr()) &&
      !typeHas(py::handle(reinterpret_cast<PyObject *>(type)), "dtype"))
    return Protocol::Float;
  return protocolOfObject(object);
}

const char *shortDtypeName(std::string_view name) {
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos)
    name.remove_prefix(dot + 1);
  static constexpr std::pair<const char *, const char *> names[] = {
      {"bool", "i1"},
      {"float8_e4m3fn", "fp8e4nv"},
      {"float8_e5m2", "fp8e5"},
      {"float8_e4m3fnuz", "fp8e4b8"},
      {"float8_e5m2fnuz", "fp8e5b16"},
#define DTYPE(scalar, name, shortName, longName, bits, meaning) {longName, shortName},
#include "pantile/Dtypes.def"
  };
  for (auto [longName, shortName] : names)
    if (name == longName || name == shortName)
      return shortName;
  return nullptr;
}

Argument classify(py::handle object) {
  switch (protocolOf(object)) {
  case Protocol::None:
    return {};
  case Protocol::Bool:
    return scalar(Argument::Kind::Bool, "i1", LaunchArg::i(object.ptr() == Py_True));
  case Protocol::Int:
    return integer(object);
  case Protocol::Float:
    return scalar(Argument::Kind::Float, "fp32", LaunchArg::f(PyFloat_AS_DOUBLE(object.ptr())));
  case Protocol::NumpyScalar:
    // `item` of a bfloat16 scalar is a float already.
    return classify(object.attr("item")());
  case Protocol::Numpy:
    return readNumpy(object);
  case Protocol::TorchLike:
    return readTorchLike(object);
  case Protocol::CudaArray:
    return readCudaArray(object);
  case Protocol::DLPack:
    return readDLPack(object);
  case Protocol::HostArray:
    return readHostArray(object);
  case Protocol::Tuple:
    return tuple(object);
  case Protocol::Aggregate:
    return aggregate(object);
  case Protocol::Descriptor:
    return descriptor(object);
  case Protocol::Constant:
    break;
  }
  Argument argument;
  argument.kind = Argument::Kind::Constant;
  return argument;
}

bool isPinned(py::handle object) {
  return py::hasattr(object, "is_pinned") && object.attr("is_pinned")().cast<bool>();
}

} // namespace pantile::python
