//===- TritonIr.h - the submodule `ir`: operations in the form of Triton's bindings ----------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindTritonIr(pybind11::module_ &module);

} // namespace pantile::python
