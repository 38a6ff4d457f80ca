//===- Predict.cpp - predictions of launches ---------------------------------------------===//
// Needs: a call, which has the values of the arguments; the program, specialised for it; a grid.
// Gives: `predict`, `predict_tiles` and `Prediction`.
// How:   The passes run without the GIL; neither the cache nor the assembler is used.
//===-----------------------------------------------------------------------------------===//
#include "Predict.h"
#include "Dispatcher.h"
#include "Errors.h"
#include "LaunchGrid.h"
#include "pantile/Request.h"
#include "pantile/Runtime.h"
#include "pantile/Tuner.h"
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

using Variants = std::vector<std::pair<int, int>>; // warps, stages

LaunchShape shapeOf(const Call &call, const Specialization &specialization, py::handle grid,
                    int sms) {
  LaunchShape shape;
  shape.grid = toGrid(grid);
  shape.multiprocessors = sms;
  for (const LaunchArg &argument : call.launchArguments(specialization.args))
    shape.integers.push_back(argument.kind == LaunchArg::Kind::Int ? std::optional(argument.integer)
                                                                   : std::nullopt);
  return shape;
}

Kernel runPasses(const Program &program, const Specialization &specialization,
                 const Options &options, const LaunchShape &shape, Stage stage) {
  Observe observe;
  observe.launch = &shape;
  observe.useCache = false;
  observe.stopAfter = stage;
  // Never destroyed: threads of the program may still compile while Python shuts down.
  static auto *compiler = new Compiler();
  Result<Kernel> result = [&] {
    py::gil_scoped_release release;
    return compiler->compile(program, specialization, options, observe);
  }();
  const Kernel kernel = unwrap(std::move(result));
  if (kernel->predictions.empty())
    throw py::value_error("there are no predictions for " + options.target);
  return kernel;
}

/// Predicts from what the passes plan.
PredictedCandidate predict(const std::shared_ptr<Program> &program,
                           const Specialization &specialization, const Options &options,
                           const Call &call, py::handle grid, int sms) {
  const LaunchShape shape = shapeOf(call, specialization, grid, sms);
  const Kernel kernel = runPasses(*program, specialization, options, shape, Stage::Plan);
  return {kernel->predictions.front(), std::string(kernel.plan())};
}

/// Predicts from the tile IR alone, for each of `variants`.
std::vector<PredictedCandidate> predictTiles(const std::shared_ptr<Program> &program,
                                             const Specialization &specialization,
                                             const Options &options, const Call &call,
                                             py::handle grid, int sms, const Variants &variants) {
  LaunchShape shape = shapeOf(call, specialization, grid, sms);
  for (const auto &[warps, stages] : variants)
    shape.variants.push_back({.numWarps = warps, .numStages = stages});
  const Kernel kernel = runPasses(*program, specialization, options, shape, Stage::Tile);
  std::vector<PredictedCandidate> predictions;
  for (const LaunchPrediction &found : kernel->predictions)
    predictions.push_back({found, {}});
  return predictions;
}

} // namespace

void bindPredict(py::module_ &module) {
  using Bound = PredictedCandidate;
  py::class_<Bound>(module, "Prediction")
      .def_property_readonly("cycles", [](const Bound &self) { return self.prediction.cycles; })
      .def_property_readonly("unknown", [](const Bound &self) { return self.prediction.unknown; })
      .def_property_readonly("ctas_per_sm",
                             [](const Bound &self) { return self.prediction.ctasPerSm; })
      .def_property_readonly("registers",
                             [](const Bound &self) { return self.prediction.registers; })
      .def_property_readonly("spills", [](const Bound &self) { return self.prediction.spills; })
      .def_readonly("plan", &Bound::plan);
  module.def("predict", &predict);
  module.def("predict_tiles", &predictTiles);
}

} // namespace pantile::python
