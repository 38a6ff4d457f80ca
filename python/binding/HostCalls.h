//===- HostCalls.h - constexpr functions, called while a kernel compiles -------------------===//
// Needs: a Python callable that takes (list of arguments, dict of named ones) in the forms of
//        Values.h and returns such a form.
// Gives: a HostCall for FunctionSource. It takes the GIL itself, as compilation runs without it;
//        an exception of the callable becomes an Error that names its class.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Program.h"
#include <pybind11/pybind11.h>

namespace pantile::python {

HostCall toHostCall(pybind11::object callable, std::string name);

} // namespace pantile::python
