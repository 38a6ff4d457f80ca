//===- Launchers.cpp - `kernel[grid]`, kept by grid -------------------------------------===//
// Gives: `_pantile.Launchers(function, dispatcher, tuner)`, whose subscript is a Launcher.
// How:   The last launcher if the grid is the same object, such as a constant of the program; else
//        a table by the extents of grids of plain ints, in which a new grid replaces an old one
//        with the same hash. A callable grid gets a new launcher each time: what it captures must
//        not outlive the call.
//===-----------------------------------------------------------------------------------===//
#include "Launcher.h"
#include "TableLock.h"
#include <array>
#include <new>

namespace py = pybind11;

namespace pantile::python {
namespace {

struct Launchers {
  PyObject_HEAD LauncherParts parts;
  TableLock::Mutex mutex; ///< guards the members below
  PyObject *recent;       ///< launcher of `recentGrid`, which is of plain ints
  PyObject *recentGrid;
  std::array<PyObject *, 64> known;
};

Launchers &launchersOf(PyObject *self) { return *reinterpret_cast<Launchers *>(self); }

bool readExtent(PyObject *value, int64_t &extent) {
  int overflow = 0;
  if (!PyLong_CheckExact(value))
    return false;
  extent = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow;
}

/// The extents of a grid of plain ints. False: it is something else, valid or not.
bool readExtents(PyObject *grid, Grid &extents) {
  extents = {1, 1, 1};
  if (!PyTuple_CheckExact(grid))
    return readExtent(grid, extents[0]);
  const Py_ssize_t size = PyTuple_GET_SIZE(grid);
  bool done = size >= 1 && size <= 3;
  for (Py_ssize_t i = 0; done && i < size; ++i)
    done = readExtent(PyTuple_GET_ITEM(grid, i), extents[i]);
  return done;
}

PyObject *&placeOf(Launchers &launchers, const Grid &extents) {
  uint64_t hash = 0;
  for (int64_t extent : extents)
    hash = (hash ^ uint64_t(extent)) * 0x9e3779b97f4a7c15u;
  return launchers.known[hash >> 58];
}

/// Whether a launcher has this grid, in the same form.
bool isOf(PyObject *launcher, PyObject *grid, const Grid &extents) {
  PyObject *own = gridOf(launcher);
  const Grid *known = extentsOf(launcher);
  return known && *known == extents && Py_TYPE(own) == Py_TYPE(grid) &&
         (!PyTuple_CheckExact(grid) || PyTuple_GET_SIZE(own) == PyTuple_GET_SIZE(grid));
}

/// The last launcher if the grid is the same object: of plain ints, it cannot have changed.
PyObject *findRecent(Launchers &launchers, PyObject *grid) {
  const TableLock lock(launchers.mutex);
  return launchers.recentGrid == grid ? Py_NewRef(launchers.recent) : nullptr;
}

void setRecent(Launchers &launchers, PyObject *launcher, PyObject *grid) {
  Py_INCREF(launcher);
  Py_INCREF(grid);
  {
    const TableLock lock(launchers.mutex);
    std::swap(launchers.recent, launcher);
    std::swap(launchers.recentGrid, grid);
  }
  Py_XDECREF(launcher);
  Py_XDECREF(grid);
}

/// The launcher of a grid of plain ints.
PyObject *findOrMake(Launchers &launchers, PyObject *grid, const Grid &extents) {
  PyObject *&place = placeOf(launchers, extents);
  {
    const TableLock lock(launchers.mutex);
    if (place && isOf(place, grid, extents))
      return Py_NewRef(place);
  }
  PyObject *made = makeLauncher(launchers.parts, grid);
  if (!made)
    return nullptr;
  PyObject *replaced = Py_NewRef(made);
  {
    const TableLock lock(launchers.mutex);
    std::swap(place, replaced);
  }
  Py_XDECREF(replaced);
  return made;
}

PyObject *subscript(PyObject *self, PyObject *grid) {
  Launchers &launchers = launchersOf(self);
  if (!launchers.parts.function) {
    PyErr_SetString(PyExc_ReferenceError, "the kernel of these launchers was collected");
    return nullptr;
  }
  if (PyObject *found = findRecent(launchers, grid))
    return found;
  Grid extents;
  if (readExtents(grid, extents)) {
    PyObject *found = findOrMake(launchers, grid, extents);
    if (found)
      setRecent(launchers, found, grid);
    return found;
  }
  if (!PyList_CheckExact(grid))
    return makeLauncher(launchers.parts, grid);
  const auto tuple = py::reinterpret_steal<py::object>(PyList_AsTuple(grid));
  return tuple ? subscript(self, tuple.ptr()) : nullptr;
}

PyObject *create(PyTypeObject *type, PyObject *args, PyObject *) {
  PyObject *function, *dispatcher, *tuner = Py_None;
  if (!PyArg_ParseTuple(args, "OO|O", &function, &dispatcher, &tuner))
    return nullptr;
  LauncherParts parts;
  try {
    parts.target = py::handle(dispatcher).cast<Dispatcher *>();
    parts.tuned = tuner == Py_None ? nullptr : py::handle(tuner).cast<TunedTable *>();
  } catch (const py::cast_error &error) {
    PyErr_SetString(PyExc_TypeError, error.what());
    return nullptr;
  }
  if (!parts.target) {
    PyErr_SetString(PyExc_TypeError, "launchers need the dispatcher of a kernel");
    return nullptr;
  }
  PyObject *self = type->tp_alloc(type, 0);
  if (!self)
    return nullptr;
  parts.function = Py_NewRef(function), parts.dispatcher = Py_NewRef(dispatcher);
  parts.tuner = parts.tuned ? Py_NewRef(tuner) : nullptr;
  Launchers &made = launchersOf(self);
  new (&made.mutex) TableLock::Mutex();
  made.parts = parts;
  return self;
}

int traverseLaunchers(PyObject *self, visitproc visit, void *arg) {
  Launchers &launchers = launchersOf(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launchers.parts.function);
  Py_VISIT(launchers.parts.dispatcher);
  Py_VISIT(launchers.parts.tuner);
  for (PyObject *launcher : launchers.known)
    Py_VISIT(launcher);
  Py_VISIT(launchers.recent);
  Py_VISIT(launchers.recentGrid);
  return 0;
}

int clearLaunchers(PyObject *self) {
  Launchers &launchers = launchersOf(self);
  Py_CLEAR(launchers.parts.function);
  Py_CLEAR(launchers.parts.tuner);
  for (PyObject *&launcher : launchers.known)
    Py_CLEAR(launcher);
  Py_CLEAR(launchers.recent);
  Py_CLEAR(launchers.recentGrid);
  return 0;
}

void destroyLaunchers(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clearLaunchers(self);
  Py_CLEAR(launchersOf(self).parts.dispatcher);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot launchersSlots[] = {{Py_tp_new, reinterpret_cast<void *>(create)},
                                {Py_mp_subscript, reinterpret_cast<void *>(subscript)},
                                {Py_tp_traverse, reinterpret_cast<void *>(traverseLaunchers)},
                                {Py_tp_clear, reinterpret_cast<void *>(clearLaunchers)},
                                {Py_tp_dealloc, reinterpret_cast<void *>(destroyLaunchers)},
                                {0, nullptr}};

PyType_Spec launchersSpec = {"pantile._pantile.Launchers", sizeof(Launchers), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, launchersSlots};

} // namespace

void bindLaunchers(py::module_ &module) {
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&launchersSpec));
  if (!type)
    throw py::error_already_set();
  module.attr("Launchers") = type;
}

} // namespace pantile::python
