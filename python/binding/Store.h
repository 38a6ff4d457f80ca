//===- Store.h - the kernel cache, for Python ----------------------------------------------===//
// Gives: `cache_load`, `cache_store`, `cache_entries` of the extension module.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <pybind11/pybind11.h>

namespace pantile::python {

void bindStore(pybind11::module_ &module);

} // namespace pantile::python
