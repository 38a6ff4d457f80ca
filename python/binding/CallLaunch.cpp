//===- CallLaunch.cpp - what a launch takes of a call -----------------------------------===//
// Needs: a call whose kernel is known (Dispatcher.h).
// Gives: the members of Call that launch it or name its arrays.
//===-----------------------------------------------------------------------------------===//
#include "CurrentStream.h"
#include "Dispatcher.h"
#include "Errors.h"
#include "LaunchGrid.h"
#include <algorithm>

namespace py = pybind11;

namespace pantile::python {

static void appendLaunchArguments(const ArgSpec &spec, const Argument &argument,
                                  std::vector<LaunchArg> &result) {
  if (spec.kind == ArgSpec::Kind::Constant)
    return;
  if (!argument.structure)
    return result.push_back(argument.launch);
  const Structure &parts = *argument.structure;
  for (size_t i = 0; i < parts.elements.size(); ++i)
    if (spec.kind == ArgSpec::Kind::Descriptor)
      result.push_back(parts.elements[i].launch);
    else if (i < spec.elements.size())
      appendLaunchArguments(spec.elements[i], parts.elements[i], result);
  result.insert(result.end(), parts.extents.begin(), parts.extents.end());
}

std::vector<LaunchArg> Call::launchArguments(const std::vector<ArgSpec> &specs) const {
  std::vector<LaunchArg> result;
  for (size_t i = 0; i < arguments.size(); ++i)
    appendLaunchArguments(specs[i], arguments[i], result);
  return result;
}

/// Lists the arrays of an argument and counts the launch arguments that it makes.
struct ArrayList {
  const std::vector<int> &written;
  py::list rows;
  int position = 0;

  void add(const ArgSpec &spec, const Argument &argument, const std::string &name,
           py::handle object) {
    if (spec.kind == ArgSpec::Kind::Constant)
      return;
    if (argument.structure)
      return addParts(spec, *argument.structure, name);
    if (spec.kind == ArgSpec::Kind::Pointer || spec.kind == ArgSpec::Kind::Descriptor)
      rows.append(py::make_tuple(name, object, std::ranges::count(written, position) > 0));
    ++position;
  }

  void addParts(const ArgSpec &spec, const Structure &parts, const std::string &name) {
    const bool isDescriptor = spec.kind == ArgSpec::Kind::Descriptor;
    for (size_t i = 0; i < parts.elements.size(); ++i) {
      const std::string part = isDescriptor              ? ".base"
                               : i < parts.fields.size() ? "." + parts.fields[i]
                                                         : "[" + std::to_string(i) + "]";
      if (isDescriptor || i < spec.elements.size())
        add(isDescriptor ? spec : spec.elements[i], parts.elements[i], name + part,
            parts.values[i]);
    }
    position += static_cast<int>(parts.extents.size());
  }
};

py::list Call::arrays() const {
  ArrayList list{kernel->written, py::list()};
  for (size_t i = 0; i < arguments.size(); ++i)
    list.add(kernel->args[i], arguments[i], dispatcher->parameters[i].name, values[i]);
  return list.rows;
}

/// The handle of a stream: of torch, of CuPy, or an int.
static uint64_t handleOfStream(py::handle stream) {
  for (const char *name : {"cuda_stream", "ptr"})
    if (py::hasattr(stream, name))
      return stream.attr(name).cast<uint64_t>();
  return stream.cast<uint64_t>();
}

static bool isAskedFor(const py::dict &options, const char *name) {
  return !options.empty() && options.contains(name) && options[name].cast<bool>();
}

LaunchOptions Call::launchOptions() const {
  LaunchOptions result;
  if (target == "cpu")
    return result;
  result.device = device;
  result.cooperative = isAskedFor(options, "launch_cooperative_grid");
  result.programmatic = isAskedFor(options, "launch_pdl");
  return result;
}

void Call::launch(py::handle grid, py::handle stream) const {
  const Grid extents = toGrid(grid);
  const std::vector<LaunchArg> args = launchArguments();
  LaunchOptions options = launchOptions();
  const bool onCpu = target == "cpu";
  if (!onCpu)
    options.stream = stream.is_none() ? currentStream(device) : handleOfStream(stream);
  const Result<void> done = [&] {
    py::gil_scoped_release release;
    return pantile::launch(kernel, extents, args, options);
  }();
  if (onCpu)
    showWarnings(takeWarnings());
  unwrap(done, "launch");
}

} // namespace pantile::python
