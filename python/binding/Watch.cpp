//===- Watch.cpp - whether Python objects that a kernel read have changed ------------------===//
// Needs: see Watch.h.
// Gives: Watch, `_pantile.has_changed`.
// How:   without the GIL, a container is locked while its elements are compared.
//===------------------------------------------------------------------------------------===//
#include "Watch.h"

namespace py = pybind11;

namespace pantile::python {
namespace {

/// The value of `name` in a dict or a class, borrowed; null if there is none, or if `space` is
/// something else.
PyObject *find(PyObject *space, PyObject *name) {
  if (PyDict_Check(space)) {
    PyObject *found = PyDict_GetItemWithError(space, name);
    if (!found)
      PyErr_Clear();
    return found;
  }
  return PyType_Check(space) ? _PyType_Lookup(reinterpret_cast<PyTypeObject *>(space), name)
                             : nullptr;
}

/// The objects of a tuple, one after the other.
struct Expected {
  PyObject *tuple;
  Py_ssize_t at = 0;
  bool next(PyObject *object) {
    return at < PyTuple_GET_SIZE(tuple) && PyTuple_GET_ITEM(tuple, at++) == object;
  }
  bool atEnd() const { return at == PyTuple_GET_SIZE(tuple); }
};

bool listHolds(PyObject *list, Expected expected) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    if (!expected.next(PyList_GET_ITEM(list, i)))
      return false;
  return expected.atEnd();
}

bool dictHolds(PyObject *dict, Expected expected) {
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value))
    if (!expected.next(key) || !expected.next(value))
      return false;
  return expected.atEnd();
}

bool setHolds(PyObject *set, Expected expected) {
  const auto iterator = py::reinterpret_steal<py::object>(PySet_Type.tp_iter(set));
  while (PyObject *element = iterator ? PyIter_Next(iterator.ptr()) : nullptr) {
    const bool isSame = expected.next(element);
    Py_DECREF(element);
    if (!isSame)
      return false;
  }
  PyErr_Clear();
  return iterator && expected.atEnd();
}

bool holds(PyObject *container, PyObject *held) {
  if (PyCell_Check(container))
    return PyCell_GET(container) == held;
  if (!PyTuple_CheckExact(held))
    return false;
  if (PyList_Check(container))
    return listHolds(container, {held});
  if (PyDict_Check(container))
    return dictHolds(container, {held});
  return PySet_Check(container) && setHolds(container, {held});
}

} // namespace

bool Watch::changed() const {
  bool isThere = false;
#ifdef Py_GIL_DISABLED
  Py_BEGIN_CRITICAL_SECTION(space.ptr());
#endif
  isThere =
      name.is_none() ? holds(space.ptr(), held.ptr()) : find(space.ptr(), name.ptr()) == held.ptr();
#ifdef Py_GIL_DISABLED
  Py_END_CRITICAL_SECTION();
#endif
  return !isThere;
}

int Watch::traverse(visitproc visit, void *arg) const {
  Py_VISIT(space.ptr());
  Py_VISIT(name.ptr());
  Py_VISIT(held.ptr());
  return 0;
}

Watch toWatch(py::handle place) {
  const auto parts = py::reinterpret_borrow<py::tuple>(place);
  return {parts[0], parts[1], parts[2]};
}

void bindWatch(py::module_ &module) {
  module.def("has_changed", [](const py::tuple &place) { return toWatch(place).changed(); });
}

} // namespace pantile::python
