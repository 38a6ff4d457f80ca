//===- ArrayProtocols.h - arrays of other libraries as pointer arguments ----------------===//
// Needs: the GIL, and an object of the kind that the function names.
// Gives: address, element type, device, and for host memory the bounds of the whole storage.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "Arguments.h"

namespace pantile::python {

Argument readNumpy(pybind11::handle array);
Argument readTorchLike(pybind11::handle tensor);
Argument readCudaArray(pybind11::handle array);
Argument readHostArray(pybind11::handle array);
Argument readDLPack(pybind11::handle tensor);

} // namespace pantile::python
