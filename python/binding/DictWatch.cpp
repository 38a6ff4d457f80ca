//===- DictWatch.cpp - change counts of dicts that other code writes to ------------------===//
#include "DictWatch.h"

namespace pantile::python {

#if PY_VERSION_HEX >= 0x030C0000 && !defined(Py_GIL_DISABLED)
bool DictWatch::watch(PyObject *dict) {
  static const int watcher =
      PyDict_AddWatcher([](PyDict_WatchEvent, PyObject *, PyObject *, PyObject *) {
        ++count;
        return 0;
      });
  const bool done = watcher >= 0 && PyDict_Watch(watcher, dict) == 0;
  PyErr_Clear();
  return done;
}
#else
bool DictWatch::watch(PyObject *) { return false; }
#endif

} // namespace pantile::python
