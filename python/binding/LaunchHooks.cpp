//===- LaunchHooks.cpp - whether launch hooks are set -------------------------------------===//
// How:   A hook is an attribute of an object that users may replace. It is most often an empty
//        chain, whose list of functions is cached. Python 3.12 and later report when the attribute
//        or the object is replaced; with earlier ones both are read at each launch.
//===-----------------------------------------------------------------------------------===//
#include "LaunchHooks.h"
#include "DictWatch.h"
#include "TableLock.h"
#include <atomic>
#include <pybind11/pybind11.h>
#include <utility>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// One hook: the last chain seen and its list of functions, which the chain never replaces.
class Hook {
public:
  explicit Hook(const char *name) : name(PyUnicode_InternFromString(name)) {}

  /// Whether a launch calls, or may call, a function.
  bool isSet() {
    const TableLock lock(mutex);
    return isForeign || (calls && PyList_GET_SIZE(calls.ptr()) > 0);
  }

  /// Reads the attribute again. False: it is not our chain, and nothing can be cached.
  bool look(PyObject *settings) {
    PyObject *now = PyDict_GetItemWithError(settings, name);
    PyErr_Clear();
    if (now && now == chain.ptr())
      return !isForeign;
    py::object list;
    if (now && now != Py_None)
      list = py::getattr(now, "calls", py::none());
    const bool known =
        now && (now == Py_None || (PyList_CheckExact(list.ptr()) && py::hasattr(now, "reversed")));
    set(py::reinterpret_borrow<py::object>(now), known ? list : py::object(), !known);
    return known;
  }

private:
  /// The old value is released outside the lock: that runs Python.
  void set(py::object newChain, py::object newCalls, bool foreign) {
    const TableLock lock(mutex);
    std::swap(chain, newChain);
    std::swap(calls, newCalls);
    isForeign = foreign;
  }

  PyObject *name;
  TableLock::Mutex mutex;
  py::object chain, calls;
  bool isForeign = true;
};

/// Whether setting an attribute on `group`, whose dict is watched, is reported: not if Python keeps
/// attributes elsewhere.
bool tellsOfChanges(PyObject *group) {
  static PyObject *const name = PyUnicode_InternFromString("_watched");
  const uint64_t before = DictWatch::changes();
  const bool isSet = PyObject_SetAttr(group, name, Py_True) == 0;
  const bool isTold = DictWatch::changes() != before;
  const bool isGone = isSet && PyObject_DelAttr(group, name) == 0;
  PyErr_Clear();
  return isTold && isGone;
}

/// The dict of `group`, looked up again if `group` is another object than before.
PyObject *attributes(const char *module, const char *group, std::atomic<bool> &isWatched) {
  static PyObject *const moduleDict = PyModule_GetDict(py::module_::import(module).release().ptr());
  static PyObject *const groupName = PyUnicode_InternFromString(group);
  static PyObject *const dictName = PyUnicode_InternFromString("__dict__");
  static std::atomic<PyObject *> lastGroup = nullptr, lastDict = nullptr; // the dict is set first
  PyObject *now = PyDict_GetItemWithError(moduleDict, groupName);
  if (now == lastGroup)
    return lastDict;
  // Kept for ever, as only a few groups are ever created.
  PyObject *dict = now ? PyObject_GetAttr(now, dictName) : nullptr;
  PyErr_Clear();
  isWatched = dict && DictWatch::watch(moduleDict) && DictWatch::watch(dict) && tellsOfChanges(now);
  Py_XINCREF(now);
  lastDict = dict, lastGroup = now;
  return dict;
}

} // namespace

bool mayHaveLaunchHooks() {
  static auto *enter = new Hook("launch_enter_hook"), *exit = new Hook("launch_exit_hook");
  static std::atomic<bool> isWatched = false;
  static std::atomic<uint64_t> known = 0; // changes of the dicts when the hooks were read
  if (known != DictWatch::changes()) {
    PyObject *settings = attributes("pantile.knobs", "runtime", isWatched);
    if (!settings)
      return true;
    const uint64_t before = DictWatch::changes();
    const bool isTold = enter->look(settings) & exit->look(settings);
    known = isTold && isWatched ? before : 0;
  }
  return enter->isSet() || exit->isSet();
}

} // namespace pantile::python
