//===- TritonIr.h - the submodule `ir`: a kernel's operations as Triton's bindings show them ===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindTritonIr(pybind11::module_ &module);

} // namespace pantile::python
