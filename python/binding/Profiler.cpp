//===- Profiler.cpp - the profiler of kernels, for pantile.profiler ------------------------===//
// How:   Functions that may wait for CUPTI or the GPU release the GIL, as a launch on another
//        thread may need it to inspect its Python stack.
//===-----------------------------------------------------------------------------------===//
#include "Profiler.h"
#include "Errors.h"
#include "pantile/Profiler.h"
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

PyObject *refinement = nullptr; ///< guarded by the GIL

template <typename Call> auto withoutGil(Call call) {
  py::gil_scoped_release release;
  return call();
}

/// Launches also happen in libraries that have released the GIL, and on threads that never had it:
/// those have no Python stack.
uint32_t refine(uint32_t place) {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState())
    return place;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace; // of an exception that the thread may be handling
  PyErr_Fetch(&type, &value, &trace);
  if (PyObject *made = refinement ? PyObject_CallFunction(refinement, "I", place) : nullptr) {
    place = uint32_t(PyLong_AsUnsignedLong(made));
    Py_DECREF(made);
  }
  if (PyErr_Occurred())
    PyErr_WriteUnraisable(refinement);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return place;
}

void setRefinement(const py::object &function) {
  PyObject *before = refinement;
  refinement = function.is_none() ? nullptr : function.inc_ref().ptr();
  refinePlaces(refinement ? &refine : nullptr);
  Py_XDECREF(before);
}

/// The name in C++ of a mangled one, or the name itself.
std::string demangled(const std::string &name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name.starts_with("_Z") ? std::string(text.get()) : name;
}

/// (name, device, place, place of the capture or None)
py::tuple describe(const ProfiledKernel &kernel, const std::vector<py::str> &names) {
  return py::make_tuple(names[kernel.name], kernel.device, kernel.place, kernel.capturedAt);
}

/// (rows (kernel, count, nanoseconds), rows (kernel, context, stream, graph, start, end), lost)
py::tuple takeRows() {
  const Profile profile = unwrap(withoutGil(&takeProfile), "launch");
  std::vector<py::str> names;
  for (const std::string &name : profile.names) {
    const std::string shown = demangled(name);
    names.push_back(py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(shown.data(), Py_ssize_t(shown.size()), "replace")));
  }
  py::list totals, runs;
  for (const KernelTotal &row : profile.totals)
    totals.append(py::make_tuple(describe(row.kernel, names), row.count, row.nanoseconds));
  for (const KernelRun &row : profile.runs)
    runs.append(py::make_tuple(describe(row.kernel, names), row.context, row.stream, row.graph,
                               row.start, row.end));
  return py::make_tuple(totals, runs, profile.lost);
}

} // namespace

void bindProfiler(py::module_ &module) {
  module.def("profiler_open", [](const std::vector<std::string> &files) {
    return unwrap(withoutGil([&] { return openProfiler(files); }), "launch");
  });
  module.def("profiler_start", [](bool keepRuns) {
    unwrap(withoutGil([&] { return startProfiler(keepRuns); }), "launch");
  });
  module.def("profiler_take", &takeRows);
  module.def("profiler_stop", [] { withoutGil(&stopProfiler); });
  module.def("profiler_place", &setPlace, py::arg("place").none(true));
  module.def("profiler_shared_place", &setSharedPlace);
  module.def("profiler_refine", &setRefinement);
}

} // namespace pantile::python
