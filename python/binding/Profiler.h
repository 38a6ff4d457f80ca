//===- Profiler.h - the profiler of kernels, for pantile.profiler --------------------------===//
// Gives: `profiler_open`, `profiler_start`, `profiler_take`, `profiler_stop`, `profiler_place`,
//        `profiler_shared_place`, `profiler_refine` of the extension module.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindProfiler(pybind11::module_ &module);

} // namespace pantile::python
