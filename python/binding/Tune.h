//===- Tune.h - the ranking and the race of the tuner -------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindTune(pybind11::module_ &module);

} // namespace pantile::python
