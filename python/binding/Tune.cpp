//===- Tune.cpp - the ranking and the race of the tuner -----------------------------------===//
// Needs: functions of Python that predict and run candidates; see pantile/Tuner.h.
// Gives: `rank_candidates` and `race`.
// How:   the library has no exceptions. So after the first one that Python raises no function of it
//        is called any more, and it is raised again when the library returns.
//===------------------------------------------------------------------------------------===//
#include "Tune.h"
#include "pantile/Tuner.h"
#include <exception>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// Calls functions of Python until one raises an exception.
class Callbacks {
public:
  /// What `function` returns; an empty Result if one has raised an exception.
  template <typename Result, typename... Args>
  Result call(const py::function &function, Args... args) {
    if (raised)
      return {};
    try {
      return function(args...).template cast<Result>();
    } catch (...) {
      raised = std::current_exception();
      return {};
    }
  }

  void raiseAgain() const {
    if (raised)
      std::rethrow_exception(raised);
  }

private:
  std::exception_ptr raised;
};

using Times = std::vector<double>;

std::vector<Times> raceOf(size_t contestants, const py::function &measure, double milliseconds) {
  Callbacks callbacks;
  auto run = [&](size_t number, int runs) {
    return callbacks.call<std::optional<Times>>(measure, number, runs);
  };
  std::vector<Times> times = race(contestants, run, milliseconds);
  callbacks.raiseAgain();
  return times;
}

/// Returns the order, and why nothing was predicted.
py::tuple rankingOf(const std::vector<std::string> &tiles, const py::function &byTiles,
                    const py::function &byPlans, size_t keep) {
  Callbacks callbacks;
  auto predictBy = [&](const py::function &function) {
    return [&](const std::vector<size_t> &numbers) {
      return callbacks.call<std::vector<std::optional<PredictedCandidate>>>(function, numbers);
    };
  };
  const CandidateRanking ranking =
      rankCandidates(tiles, predictBy(byTiles), predictBy(byPlans), keep);
  callbacks.raiseAgain();
  return py::make_tuple(ranking.order, ranking.unknown);
}

} // namespace

void bindTune(py::module_ &module) {
  module.def("race", &raceOf, py::arg("contestants"), py::arg("measure"), py::arg("milliseconds"));
  module.def("rank_candidates", &rankingOf, py::arg("tiles"), py::arg("by_tiles"),
             py::arg("by_plans"), py::arg("keep"));
}

} // namespace pantile::python
