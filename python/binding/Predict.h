//===- Predict.h - predictions of launches -----------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindPredict(pybind11::module_ &module);

} // namespace pantile::python
