//===- ArgTypes.h - types of specialised parameters in Triton's syntax ---------------------===//
// Gives: "*fp16:16", "*kfp32", "i32", "constexpr", "tensordesc<fp16[64, 32]>"; a tuple of these
//        for a tuple. ":16" marks a multiple of 16.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Program.h"
#include <pybind11/pybind11.h>

namespace pantile::python {

pybind11::object typeOf(const ArgSpec &spec);

} // namespace pantile::python
