//===- LaunchHooks.cpp - whether anybody listens to launches ----------------------------===//
// How:   a hook is an attribute of an object that users may replace, and is most often an empty
//        chain. The list of a chain that was seen before is remembered with it.
//===-----------------------------------------------------------------------------------===//
#include "LaunchHooks.h"
#include "TableLock.h"
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// One hook: the chain last seen and the list of its functions, which it never replaces.
struct Hook {
  PyObject *name;
  TableLock::Mutex mutex;
  py::object chain, calls;

  bool isSet(PyObject *settings) {
    PyObject *now = PyDict_GetItemWithError(settings, name);
    if (!now || now == Py_None)
      return PyErr_Occurred() != nullptr;
    {
      const TableLock lock(mutex);
      if (now == chain.ptr())
        return PyList_GET_SIZE(calls.ptr()) > 0;
    }
    return learn(py::reinterpret_borrow<py::object>(now));
  }

  bool learn(py::object now) {
    const py::object list = py::getattr(now, "calls", py::none());
    if (!py::hasattr(now, "reversed") || !PyList_CheckExact(list.ptr()))
      return true;
    const bool isSet = PyList_GET_SIZE(list.ptr()) > 0;
    const TableLock lock(mutex);
    chain = std::move(now), calls = list;
    return isSet;
  }
};

PyObject *attributes(const char *module, const char *group) {
  static PyObject *const moduleDict = PyModule_GetDict(py::module_::import(module).release().ptr());
  static PyObject *const groupName = PyUnicode_InternFromString(group);
  static PyObject *const dictName = PyUnicode_InternFromString("__dict__");
  static PyObject *lastGroup = nullptr, *lastDict = nullptr;
  PyObject *now = PyDict_GetItemWithError(moduleDict, groupName);
  if (now != lastGroup) {
    lastDict = PyObject_GetAttr(now, dictName); // kept for ever, as few groups are ever made
    lastGroup = now, Py_INCREF(now);
  }
  return lastDict;
}

} // namespace

bool mayHaveLaunchHooks() {
  static auto *enter = new Hook{PyUnicode_InternFromString("launch_enter_hook"), {}, {}, {}};
  static auto *exit = new Hook{PyUnicode_InternFromString("launch_exit_hook"), {}, {}, {}};
  PyObject *settings = attributes("pantile.knobs", "runtime");
  return !settings || enter->isSet(settings) || exit->isSet(settings);
}

} // namespace pantile::python
