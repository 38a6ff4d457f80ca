//===- LaunchGrid.h - the grid of a launch from Python's object -------------------------===//
// Gives: the extents of an int, or of a tuple or list of 1 to 3; ValueError or TypeError.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <pybind11/pybind11.h>

namespace pantile::python {

Grid toGrid(pybind11::handle grid);

} // namespace pantile::python
