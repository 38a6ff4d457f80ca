//===- Predict.h - what launches are expected to take -----------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindPredict(pybind11::module_ &module);

} // namespace pantile::python
