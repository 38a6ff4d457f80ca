//===- LaunchGrid.cpp - the grid of a launch from Python's object -----------------------===//
#include "LaunchGrid.h"
#include <limits>

namespace py = pybind11;

namespace pantile::python {

/// An extent beyond 64 bits becomes one that no device accepts.
static int64_t extentOfGrid(py::handle value) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
      throw py::error_already_set();
    PyErr_Clear();
    throw py::type_error("a grid holds integers, not a `" +
                         std::string(Py_TYPE(value.ptr())->tp_name) +
                         "`; `triton.cdiv` divides and rounds up");
  }
  int overflow = 0;
  const long long extent = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow)
    return overflow > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  return extent;
}

Grid toGrid(py::handle grid) {
  Grid extents = {1, 1, 1};
  if (!PyTuple_Check(grid.ptr()) && !PyList_Check(grid.ptr())) {
    extents[0] = extentOfGrid(grid);
    return extents;
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(grid.ptr());
  if (size < 1 || size > 3)
    throw py::value_error("a grid has 1 to 3 extents, not " + std::to_string(size));
  for (Py_ssize_t axis = 0; axis < size; ++axis)
    extents[axis] = extentOfGrid(PySequence_Fast_GET_ITEM(grid.ptr(), axis));
  return extents;
}

} // namespace pantile::python
