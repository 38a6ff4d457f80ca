//===- Launcher.h - the object behind `kernel[grid]` ------------------------------------===//
// Gives: `_pantile.Launcher(function, dispatcher, tuner, grid)`, called with a kernel's arguments.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindLauncher(pybind11::module_ &module);

} // namespace pantile::python
