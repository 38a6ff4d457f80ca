//===- Values.h - compile-time values between Python and the library --------------------===//
// Needs: the GIL.
// Gives: ConstValue from Python objects (None, bool, int, float, str, tuples, named tuples and
//        the reference types bound by bindValues) and back; Program from its description.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Program.h"
#include <pybind11/pybind11.h>

namespace pantile::python {

/// Throws TypeError for an object that is no compile-time value.
ConstValue toConstValue(pybind11::handle object);
pybind11::object toPython(const ConstValue &value);

/// A text that is equal for two constants only if they compile to the same code: part of a launch
/// key.
void appendConstantKey(std::string &key, pybind11::handle object);

void bindValues(pybind11::module_ &module);

} // namespace pantile::python
