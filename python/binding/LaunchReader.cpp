//===- LaunchReader.cpp - a warm launch's arguments as key words and values -------------===//
// How:   The same rules as Dispatcher's: ints equal to 1 and None are constants, ints and addresses
//        are specialised if 16 divides them, an annotation fixes a number's type.
//===-----------------------------------------------------------------------------------===//
#include "LaunchReader.h"
#include "TensorAccess.h"
#include <bit>
#include <cstring>
#include <new>

namespace py = pybind11;

namespace pantile::python {
namespace {

enum Tag : uint64_t {
  None = 1,
  One,
  Bool,
  Int,
  Float,
  Fixed,
  Pointer,
  Tuple,
  NamedTuple,
  Aggregate,
  Descriptor,
  ConstNone,
  ConstTrue,
  ConstFalse,
  ConstInt,
  ConstFloat,
  ConstText,
  ConstKey,
  ConstSequence
};

constexpr uint64_t flagged = 1 << 8;

/// User addresses have 47 bits.
uint64_t tagged(Tag tag, const void *identity, bool flag) {
  return tag | (flag ? flagged : 0) | reinterpret_cast<uint64_t>(identity) << 16;
}

uint64_t counted(Tag tag, uint64_t count) { return tag | count << 16; }

/// Whether objects of `type` are tuples with names.
bool hasFields(PyTypeObject *type) {
  static PyObject *const name = PyUnicode_InternFromString("_fields");
  return PyObject_HasAttr(reinterpret_cast<PyObject *>(type), name) == 1;
}

py::object attribute(PyObject *object, PyObject *name) {
  auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(object, name));
  if (!found)
    PyErr_Clear();
  return found;
}

} // namespace

bool LaunchReader::keep(PyObject *object) {
  if (keptCount == maxKept)
    return false;
  keptStore[keptCount++] = object;
  return word(reinterpret_cast<uint64_t>(object));
}

bool LaunchReader::onDevice(int device) {
  const bool fits = gpu < 0 || gpu == device;
  gpu = device;
  return fits;
}

bool LaunchReader::text(PyObject *value) {
  Py_ssize_t size = 0;
  const char *bytes = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
  if (!bytes) {
    PyErr_Clear();
    return false;
  }
  const size_t count = (size + 7) / 8;
  if (wordCount + 1 + count > maxWords)
    return false;
  wordStore[wordCount++] = counted(ConstText, size);
  if (count > 0)
    wordStore[wordCount + count - 1] = 0;
  std::memcpy(&wordStore[wordCount], bytes, size);
  wordCount += count;
  return true;
}

bool LaunchReader::constant(PyObject *value) {
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && word(ConstInt) && word(static_cast<uint64_t>(number));
  }
  if (value == Py_True || value == Py_False)
    return word(value == Py_True ? ConstTrue : ConstFalse);
  if (value == Py_None)
    return word(ConstNone);
  if (PyFloat_CheckExact(value))
    return word(ConstFloat) && word(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value)));
  if (PyUnicode_CheckExact(value))
    return text(value);
  if (PyTuple_CheckExact(value)) {
    bool done = word(counted(ConstSequence, PyTuple_GET_SIZE(value)));
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(value); ++i)
      done = constant(PyTuple_GET_ITEM(value, i));
    return done;
  }
  if (PyList_Check(value) || PyTuple_Check(value) || PyLong_Check(value))
    return false;
  // Dtypes, jit functions and other objects with a key string of their own.
  static PyObject *const name = PyUnicode_InternFromString("_pantile_key");
  const py::object key = attribute(value, name);
  return key && word(ConstKey) && text(key.ptr());
}

bool LaunchReader::integer(PyObject *object, const ParameterRules &rules) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow)
    return false;
  if (rules.isFixedPointer)
    return pointer("", number, rules) && address(number);
  const bool aligned = rules.specializeAlignment && rules.specializeValue && number % 16 == 0;
  if (rules.isFixed)
    return rules.isFixedFloat ? word(Fixed) && real(static_cast<double>(number))
                              : word(tagged(Fixed, nullptr, aligned)) && whole(number);
  if (number == 1 && rules.specializeValue)
    return word(One);
  const bool narrow = number == static_cast<int32_t>(number);
  return word(tagged(Int, reinterpret_cast<const void *>(uint64_t{narrow ? 32u : 64u}), aligned)) &&
         whole(number);
}

bool LaunchReader::pointer(const char *dtype, uint64_t address, const ParameterRules &rules) {
  return word(tagged(Pointer, dtype, rules.specializeAlignment && address % 16 == 0));
}

bool LaunchReader::array(const Argument &argument, const ParameterRules &rules) {
  if (argument.place == Argument::Place::Device && !onDevice(argument.device))
    return false;
  host |= argument.place == Argument::Place::Host;
  return pointer(argument.dtype, argument.launch.pointer, rules) && copied(argument.launch);
}

bool LaunchReader::argument(PyObject *object, const ParameterRules &rules) {
  if (rules.isConstexpr)
    return constant(object);
  DeviceTensor tensor;
  if (PyLong_CheckExact(object))
    return integer(object, rules);
  if (object == Py_None)
    return word(None);
  if (object == Py_True || object == Py_False) {
    if (rules.isFixedPointer)
      return false;
    if (rules.isFixed)
      return rules.isFixedFloat ? word(Fixed) && real(object == Py_True) : integer(object, rules);
    return word(Bool) && whole(object == Py_True);
  }
  if (PyFloat_CheckExact(object)) {
    if (rules.isFixed && !rules.isFixedFloat)
      return false;
    return word(rules.isFixed ? Fixed : Float) && real(PyFloat_AS_DOUBLE(object));
  }
  if (readDeviceTensor(object, tensor))
    return onDevice(tensor.device) && pointer(tensor.dtype, tensor.address, rules) &&
           address(tensor.address);
  return other(object, rules);
}

bool LaunchReader::other(PyObject *object, const ParameterRules &rules) {
  static PyObject *const fieldsName = PyUnicode_InternFromString("__triton_aggregate__");
  try {
    switch (protocolOf(object)) {
    case Protocol::Tuple:
      return !rules.isFixed && sequence(object, rules);
    case Protocol::Aggregate:
      return aggregate(object, attribute(object, fieldsName).ptr(), rules);
    case Protocol::Descriptor:
      return descriptor(object, rules);
    case Protocol::Int:
      return integer(object, rules);
    case Protocol::NumpyScalar:
      return argument(py::handle(object).attr("item")().ptr(), rules);
    case Protocol::Constant:
      return PyUnicode_CheckExact(object) && text(object);
    default:
      const Argument read = classify(object);
      return read.kind == Argument::Kind::Pointer && array(read, rules);
    }
  } catch (const py::error_already_set &) {
  } catch (const py::builtin_exception &) {
  }
  return false;
}

bool LaunchReader::sequence(PyObject *object, const ParameterRules &rules) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  const bool plain = PyTuple_CheckExact(object) || PyList_CheckExact(object);
  const bool named = !plain && hasFields(Py_TYPE(object));
  bool done = word(counted(named ? NamedTuple : Tuple, count)) &&
              (!named || keep(reinterpret_cast<PyObject *>(Py_TYPE(object))));
  for (Py_ssize_t i = 0; done && i < count; ++i)
    done = argument(PySequence_Fast_GET_ITEM(object, i), rules);
  return done;
}

bool LaunchReader::aggregate(PyObject *object, PyObject *fields, const ParameterRules &rules) {
  if (!fields || (!PyTuple_Check(fields) && !PyList_Check(fields)))
    return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fields);
  ParameterRules constexprRules = rules;
  constexprRules.isConstexpr = true;
  bool done =
      word(counted(Aggregate, count)) && keep(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  for (Py_ssize_t i = 0; done && i < count; ++i) {
    PyObject *field = PySequence_Fast_GET_ITEM(fields, i);
    if (!PyTuple_Check(field) || PyTuple_GET_SIZE(field) < 2)
      return false;
    const py::object value = attribute(object, PyTuple_GET_ITEM(field, 0));
    const bool isConstant = PyObject_IsTrue(PyTuple_GET_ITEM(field, 1)) == 1;
    // The reference must not be the last one: arrays are read, not kept.
    done = value && argument(value.ptr(), isConstant ? constexprRules : rules);
  }
  return done;
}

bool LaunchReader::extents(PyObject *object, PyObject *name, int64_t &last) {
  const py::object list = attribute(object, name);
  if (!list || (!PyList_Check(list.ptr()) && !PyTuple_Check(list.ptr())))
    return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    PyObject *extent = PySequence_Fast_GET_ITEM(list.ptr(), i);
    int overflow = 0;
    if (!PyLong_CheckExact(extent))
      return false;
    last = PyLong_AsLongLongAndOverflow(extent, &overflow);
    if (overflow || !whole(last))
      return false;
  }
  return true;
}

bool LaunchReader::descriptor(PyObject *object, const ParameterRules &rules) {
  static PyObject *const baseName = PyUnicode_InternFromString("base"),
                         *const blockName = PyUnicode_InternFromString("block_shape"),
                         *const paddingName = PyUnicode_InternFromString("padding"),
                         *const shapeName = PyUnicode_InternFromString("shape"),
                         *const stridesName = PyUnicode_InternFromString("strides");
  const py::object base = attribute(object, baseName), block = attribute(object, blockName),
                   padding = attribute(object, paddingName);
  if (!base || !block || !PyList_CheckExact(block.ptr()))
    return false;
  const Py_ssize_t rank = PyList_GET_SIZE(block.ptr());
  const bool nan = padding && PyUnicode_Check(padding.ptr()) &&
                   PyUnicode_CompareWithASCIIString(padding.ptr(), "nan") == 0;
  const size_t before = argCount;
  int64_t lastExtent = 0, lastStride = 0;
  if (rank == 0 || !word(counted(Descriptor, rank)) || !argument(base.ptr(), rules) ||
      argCount != before + 1 || !extents(object, shapeName, lastExtent) ||
      !extents(object, stridesName, lastStride) ||
      argCount != before + 1 + 2 * static_cast<size_t>(rank) || lastStride != 1)
    return false;
  const bool wide = rules.specializeAlignment && lastExtent % 16 == 0;
  bool done = word((nan ? 1 : 0) | (wide ? 2 : 0));
  for (Py_ssize_t i = 0; done && i < rank; ++i)
    done = constant(PyList_GET_ITEM(block.ptr(), i));
  return done;
}

} // namespace pantile::python
