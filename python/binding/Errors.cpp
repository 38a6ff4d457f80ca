//===- Errors.cpp - library errors as Python exceptions ---------------------------------===//
// How: The classes are defined in Python (pantile.runtime.errors), so that users can derive from
//      and pickle them; this file passes the kind and the fields.
//===-----------------------------------------------------------------------------------===//
#include "Errors.h"

namespace py = pybind11;

namespace pantile::python {

static const char *nameOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Syntax:
    return "syntax";
  case ErrorKind::Type:
    return "type";
  case ErrorKind::Unsupported:
    return "unsupported";
  case ErrorKind::Assertion:
    return "assertion";
  case ErrorKind::Launch:
    return "launch";
  case ErrorKind::Resources:
    return "resources";
  case ErrorKind::Assembler:
    return "assembler";
  case ErrorKind::Driver:
    return "driver";
  case ErrorKind::Internal:
    return "internal";
  }
  return "internal";
}

void raise(const Error &error, std::string_view phase) {
  const SourceRange &at = error.range;
  const py::object exception =
      py::module_::import("pantile.runtime.errors")
          .attr("from_library")(nameOf(error.kind), py::str(std::string(phase)), error.message,
                                error.rendered, at.file, at.line, at.column, at.endLine,
                                at.endColumn, error.calls, error.inBuiltin);
  PyErr_SetObject(py::type::of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

} // namespace pantile::python
