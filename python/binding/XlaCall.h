//===- XlaCall.h - launches as custom calls of XLA ------------------------------------------===//
// Gives: `xla_call_on_host` and `xla_call_on_gpu` of the extension module: capsules of the
//        functions that JAX registers as targets of its typed FFI.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindXlaCall(pybind11::module_ &module);

} // namespace pantile::python
