//===- Launcher.h - the object `kernel[grid]` --------------------------------------------===//
// Gives: Launchers, which `_pantile.Launchers` creates; calling one with the kernel's arguments
//        launches the kernel.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Dispatcher.h"
#include "pantile/Runtime.h"
#include <pybind11/pybind11.h>

namespace pantile::python {

/// What all launchers of one kernel have in common.
struct LauncherParts {
  PyObject *function = nullptr;   ///< with `_launch`
  PyObject *dispatcher = nullptr; ///< of the kernel
  PyObject *tuner = nullptr;      ///< a TunedTable, or null
  Dispatcher *target = nullptr;   ///< that of `dispatcher`
  TunedTable *tuned = nullptr;    ///< that of `tuner`, or null
};

/// A new Launcher, or null with a Python error.
PyObject *makeLauncher(const LauncherParts &parts, PyObject *grid);

/// The extents of a Launcher, and its grid; null if the grid is callable or wrong.
const Grid *extentsOf(PyObject *launcher);
PyObject *gridOf(PyObject *launcher);

void bindLauncher(pybind11::module_ &module);
void bindLaunchers(pybind11::module_ &module);

} // namespace pantile::python
