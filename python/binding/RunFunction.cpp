//===- RunFunction.cpp - CompiledKernel.run as a C function --------------------------------===//
// Needs: see DirectRun.h.
// Gives: `run_function`, which makes what `CompiledKernel.run` returns.
// How:   It is called with Triton's nine leading parameters. Without hooks it launches by
//        DirectRun, so that no Python code runs; else it calls the general function.
//===-------------------------------------------------------------------------------------===//
#include "RunFunction.h"
#include "DirectRun.h"
#include "PythonNumbers.h"
#include <memory>

namespace py = pybind11;

namespace pantile::python {
namespace {

constexpr const char *capsuleName = "pantile.run";
/// Positions of what precedes the kernel's arguments.
enum Leading : Py_ssize_t { Stream = 3, EnterHook = 7, ExitHook = 8, LeadingCount = 9 };

struct RunFunction {
  py::object owner; ///< of `direct`
  DirectRun *direct;
  py::object general;
};

/// Whether a hook is surely none: null, or a chain without functions. A chain is no sequence, so
/// its `calls` is read rather than its truth value, which would run Python code. Errors of another
/// attribute than a missing one are thrown.
bool isSurelyNone(PyObject *hook) {
  if (hook == Py_None)
    return true;
  static PyObject *const name = PyUnicode_InternFromString("calls");
  const auto calls = py::reinterpret_steal<py::object>(PyObject_GetAttr(hook, name));
  if (!calls && !PyErr_ExceptionMatches(PyExc_AttributeError))
    throw py::error_already_set();
  if (!calls)
    PyErr_Clear();
  return calls && PyList_CheckExact(calls.ptr()) && PyList_GET_SIZE(calls.ptr()) == 0;
}

bool readGrid(PyObject *const *args, Grid &grid) {
  for (size_t axis = 0; axis < grid.size(); ++axis)
    if (!readInteger(args[axis], grid[axis]))
      return false;
  return true;
}

/// Launches without Python code. False: nothing was launched.
bool launchDirectly(DirectRun &direct, PyObject *const *args, Py_ssize_t count) {
  Grid grid;
  int64_t stream = 0;
  return count >= LeadingCount && isSurelyNone(args[EnterHook]) && isSurelyNone(args[ExitHook]) &&
         readGrid(args, grid) && readInteger(args[Stream], stream) &&
         direct(grid, static_cast<uint64_t>(stream),
                {args + LeadingCount, static_cast<size_t>(count - LeadingCount)});
}

PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  auto *function = static_cast<RunFunction *>(PyCapsule_GetPointer(self, capsuleName));
  if (!function)
    return nullptr;
  try {
    if (!names && launchDirectly(*function->direct, args, count))
      return Py_NewRef(Py_None);
  } catch (py::error_already_set &error) {
    error.restore();
    return nullptr;
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  return PyObject_Vectorcall(function->general.ptr(), args, static_cast<size_t>(count), names);
}

py::object makeRunFunction(const py::object &direct, const py::object &general) {
  static PyMethodDef method = {
      "run", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(run)),
      METH_FASTCALL | METH_KEYWORDS,
      "run(grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, "
      "launch_enter_hook, launch_exit_hook, *args)\n--\n\nLaunch as Triton's launchers do."};
  auto function = std::make_unique<RunFunction>(direct, direct.cast<DirectRun *>(), general);
  const auto capsule = py::reinterpret_steal<py::object>(
      PyCapsule_New(function.get(), capsuleName, [](PyObject *self) {
        delete static_cast<RunFunction *>(PyCapsule_GetPointer(self, capsuleName));
      }));
  if (!capsule)
    throw py::error_already_set();
  function.release();
  const auto made =
      py::reinterpret_steal<py::object>(PyCFunction_NewEx(&method, capsule.ptr(), nullptr));
  if (!made)
    throw py::error_already_set();
  return made;
}

} // namespace

void bindRunFunction(py::module_ &module) { module.def("run_function", makeRunFunction); }

} // namespace pantile::python
