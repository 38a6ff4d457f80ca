//===- RunFunction.h - CompiledKernel.run as a C function ----------------------------------===//
// Gives: `_pantile.run_function(direct, general)`: launches by a DirectRun where it can, else by
//        calling `general`.
//===-------------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindRunFunction(pybind11::module_ &module);

} // namespace pantile::python
