//===- Errors.h - library errors as Python exceptions -----------------------------------===//
// Needs: the GIL, and pantile.runtime.errors importable.
// Gives: a Python exception of the class that pantile.runtime.errors chooses for the kind of
//        an Error, with its message, rendered text and source range as attributes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <pybind11/pybind11.h>
#include <string_view>

namespace pantile::python {

/// `phase` is "compile" or "launch": a failed assertion of a running kernel has another class than
/// one at compile time.
[[noreturn]] void raise(const Error &error, std::string_view phase = "compile");

/// The value of `result`, or its error as an exception.
template <typename T> T unwrap(Result<T> result, std::string_view phase = "compile") {
  if (!result)
    raise(result.error(), phase);
  return std::move(*result);
}
inline void unwrap(const Result<void> &result, std::string_view phase) {
  if (!result)
    raise(result.error(), phase);
}

} // namespace pantile::python
