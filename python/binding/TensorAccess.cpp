//===- TensorAccess.cpp - reading torch's tensors ---------------------------------------===//
// How:   By DLPack's C functions if the type has them, as one call returns everything; else by the
//        C functions that implement the properties, each of which costs torch an exception guard.
// Invariant: types and dtypes in the tables are kept alive, so that no address is used twice; the
//            tables are bounded, for programs that create types without end.
//===-----------------------------------------------------------------------------------===//
#include "TensorAccess.h"
#include "ArrayProtocols.h"
#include "Dlpack.h"
#include "TableLock.h"
#include "pantile/Runtime.h"
#include <array>
#include <atomic>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// A property or a method without arguments, as its type implements it.
struct Reader {
  getter get = nullptr;
  void *closure = nullptr;
  PyCFunction call = nullptr;

  explicit operator bool() const { return get || call; }
  /// A new reference, or null with a Python error.
  PyObject *operator()(PyObject *object) const {
    return get ? get(object, closure) : call(object, nullptr);
  }
};

Reader readerOf(PyTypeObject *type, const char *name) {
  Reader reader;
  const auto found = py::reinterpret_steal<py::object>(
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), name));
  if (!found) {
    PyErr_Clear();
  } else if (Py_TYPE(found.ptr()) == &PyGetSetDescr_Type) {
    const PyGetSetDef *row = reinterpret_cast<PyGetSetDescrObject *>(found.ptr())->d_getset;
    reader.get = row->get, reader.closure = row->closure;
  } else if (Py_TYPE(found.ptr()) == &PyMethodDescr_Type) {
    const PyMethodDef *row = reinterpret_cast<PyMethodDescrObject *>(found.ptr())->d_method;
    if (row->ml_flags == METH_NOARGS)
      reader.call = row->ml_meth;
  }
  return reader;
}

struct TensorType {
  PyTypeObject *type = nullptr;
  const DLExchange *exchange = nullptr;
  Reader dtype, dataPtr, isCuda, getDevice;
  bool isTensor = false; ///< there is a way to read it

  bool hasProperties() const { return dtype && dataPtr && isCuda && getDevice; }
};

TensorType describe(PyTypeObject *type) {
  TensorType made;
  made.type = type;
  made.exchange = exchangeOf(type);
  made.isTensor = made.exchange != nullptr;
  made.isCuda = readerOf(type, "is_cuda");
  if (!made.isCuda)
    return made;
  made.dtype = readerOf(type, "dtype"), made.dataPtr = readerOf(type, "data_ptr");
  made.getDevice = readerOf(type, "get_device");
  made.isTensor |= made.hasProperties();
  return made;
}

/// Types seen, or nullptr for one that came when the table was full.
const TensorType *tensorType(PyTypeObject *type) {
  static std::array<TensorType, 64> table;
  static std::atomic<size_t> count = 0;
  static TableLock::Mutex mutex;
  for (size_t i = 0, n = count.load(std::memory_order_acquire); i < n; ++i)
    if (table[i].type == type)
      return &table[i];
  const TensorType made = describe(type);
  const TableLock lock(mutex);
  const size_t used = count.load(std::memory_order_relaxed);
  // Entries are reserved for tensors, whatever else was passed before them.
  if (used == table.size() || (!made.isTensor && used >= table.size() / 2))
    return nullptr;
  Py_INCREF(type);
  table[used] = made;
  count.store(used + 1, std::memory_order_release);
  return &table[used];
}

/// The short name of a dtype object of torch; nullptr with a Python error or without.
const char *nameOf(PyObject *dtype) {
  struct Row {
    PyObject *dtype;
    const char *name;
  };
  static std::array<Row, 64> table;
  static std::atomic<size_t> count = 0;
  static TableLock::Mutex mutex;
  for (size_t i = 0, n = count.load(std::memory_order_acquire); i < n; ++i)
    if (table[i].dtype == dtype)
      return table[i].name;
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(dtype));
  const char *utf8 = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  const char *name = utf8 ? shortDtypeName(utf8) : nullptr;
  const TableLock lock(mutex);
  const size_t used = count.load(std::memory_order_relaxed);
  if (name && used < table.size()) {
    Py_INCREF(dtype);
    table[used] = {dtype, name};
    count.store(used + 1, std::memory_order_release);
  }
  return name;
}

/// The integer that `reader` gives; -1 with a Python error.
uint64_t integerOf(const Reader &reader, PyObject *object) {
  PyObject *value = reader(object);
  if (!value)
    return -1;
  const uint64_t result = PyLong_AsUnsignedLongLongMask(value);
  Py_DECREF(value);
  return result;
}

/// Null pointers are left to the properties, which report whether that is an error.
bool readByExchange(const DLExchange &exchange, PyObject *object, DeviceTensor &tensor) {
  DLTensor described;
  if (exchange.describe(object, &described) != 0) {
    PyErr_Clear();
    return false;
  }
  if (described.deviceType != DLTensor::Cuda || !described.data)
    return false;
  tensor = {nameOfDLType(described), described.address(), described.deviceId};
  return tensor.dtype != nullptr;
}

bool readByProperties(const TensorType &type, PyObject *object, DeviceTensor &tensor) {
  PyObject *onGpu = type.isCuda(object);
  Py_XDECREF(onGpu);
  if (onGpu != Py_True)
    return false;
  PyObject *dtype = type.dtype(object);
  if (!dtype)
    return false;
  tensor.dtype = nameOf(dtype);
  Py_DECREF(dtype);
  if (!tensor.dtype)
    return false;
  tensor.address = integerOf(type.dataPtr, object);
  tensor.device = knownDeviceCount() > 1 ? static_cast<int>(integerOf(type.getDevice, object)) : 0;
  return true;
}

} // namespace

bool readDeviceTensor(PyObject *object, DeviceTensor &tensor) {
  const TensorType *type = tensorType(Py_TYPE(object));
  if (!type || !type->isTensor)
    return false;
  if (type->exchange && readByExchange(*type->exchange, object, tensor))
    return true;
  const bool done =
      type->hasProperties() && readByProperties(*type, object, tensor) && !PyErr_Occurred();
  if (!done)
    PyErr_Clear();
  return done;
}

int knownDeviceCount() {
  static const int count = deviceCount();
  return count;
}

} // namespace pantile::python
