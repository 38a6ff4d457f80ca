//===- Tune.cpp - the race of the tuner ---------------------------------------------------===//
// Needs: a function of Python that runs a contestant; see `race` in pantile/Tuner.h.
// Gives: `race`.
// How:   the library has no exceptions, so the first one that Python raises ends the race here: no
//        contestant runs after it, and it is raised again when the race is over.
//===------------------------------------------------------------------------------------===//
#include "Tune.h"
#include "pantile/Tuner.h"
#include <exception>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

using Times = std::vector<double>;

std::vector<Times> raceOf(size_t contestants, const py::function &measure, double milliseconds) {
  std::exception_ptr raised;
  auto run = [&](size_t number, int runs) -> std::optional<Times> {
    if (raised)
      return std::nullopt;
    try {
      return measure(number, runs).cast<std::optional<Times>>();
    } catch (...) {
      raised = std::current_exception();
      return std::nullopt;
    }
  };
  std::vector<Times> times = race(contestants, run, milliseconds);
  if (raised)
    std::rethrow_exception(raised);
  return times;
}

} // namespace

void bindTune(py::module_ &module) {
  module.def("race", &raceOf, py::arg("contestants"), py::arg("measure"), py::arg("milliseconds"));
}

} // namespace pantile::python
