//===- Module.cpp - the extension module ------------------------------------------------===//
// Gives: pantile._pantile: options, kernels, the compiler, devices. The dispatcher and the
//        values are in files of their own.
// How: Compilation releases the GIL; its inputs are converted before.
//===-----------------------------------------------------------------------------------===//
#include "ArgTypes.h"
#include "CurrentStream.h"
#include "DirectRun.h"
#include "Dispatcher.h"
#include "Errors.h"
#include "LaunchStats.h"
#include "Launcher.h"
#include "Predict.h"
#include "Profiler.h"
#include "RunFunction.h"
#include "Store.h"
#include "TritonIr.h"
#include "Tune.h"
#include "Values.h"
#include "Watch.h"
#include "XlaCall.h"
#include "pantile/Artifact.h"
#include "pantile/Language.h"
#include "pantile/Request.h"
#include "pantile/Runtime.h"
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

Kernel compile(const std::shared_ptr<Program> &program, const Specialization &specialization,
               const Options &options, const std::string &dumpDir, bool useCache,
               const std::string &stopAfter, bool remarks) {
  const std::optional<Stage> stage = stageNamed(stopAfter);
  if (!stage)
    throw py::value_error("there is no stage `" + stopAfter + "`");
  Observe observe;
  observe.dumpDir = dumpDir;
  observe.useCache = useCache;
  observe.remarks = remarks;
  observe.stopAfter = *stage;
  // Never destroyed: threads of the program may still compile while Python shuts down.
  static auto *compiler = new Compiler();
  Result<Kernel> result = [&] {
    py::gil_scoped_release release;
    return compiler->compile(*program, specialization, options, observe);
  }();
  Kernel kernel = unwrap(std::move(result));
  LaunchStats &stats = LaunchStats::ofProcess();
  LaunchStats::count(kernel->fromCache ? stats.loads : stats.compiles);
  return kernel;
}

template <typename T>
void bindOption(py::class_<Options> &options, const char *key, T Options::*member,
                const char *meaning) {
  options.def_readwrite(key, member, meaning);
}

/// Python uses the ABI's name.
void bindOption(py::class_<Options> &options, const char *key, LaunchAbi Options::*member,
                const char *meaning) {
  options.def_property(
      key, [member](const Options &self) { return launchAbiName(self.*member); },
      [member](Options &self, const std::string &name) {
        const auto abi = launchAbiNamed(name);
        if (!abi)
          throw py::value_error("there is no launch ABI `" + name + "`");
        self.*member = *abi;
      },
      meaning);
}

/// The names of the stages, in order.
std::vector<std::string> stageNames() {
  return {
#define STAGE(name, text, meaning) text,
#include "pantile/Stages.def"
  };
}

/// By the key of an option: the least and the most, or the names that it may be.
py::dict optionLimits() {
  std::map<std::string, std::string> keys;
#define OPTION(type, member, key, initial, meaning) keys[#member] = key;
#include "pantile/Options.def"
  py::dict limits;
  auto add = [&](const char *member, const py::tuple &values) {
    const py::str key(keys.at(member));
    limits[key] = limits.contains(key) ? py::tuple(py::object(limits[key]) + values) : values;
  };
#define RANGE(member, least, most) add(#member, py::make_tuple(least, most));
#define CHOICE(member, value) add(#member, py::make_tuple(value));
#include "pantile/Options.def"
  return limits;
}

void bindOptions(py::module_ &module) {
  module.def("stage_names", &stageNames);
  module.def("option_limits", &optionLimits);
  py::class_<Options> options(module, "Options");
  options.def(py::init<>());
#define OPTION(type, member, key, initial, meaning)                                                \
  bindOption(options, key, &Options::member, meaning);
#include "pantile/Options.def"
  py::class_<Specialization>(module, "Specialization")
      .def(py::init<>())
      .def("append",
           [](Specialization &self, const std::string &text) {
             self.args.push_back(unwrap(parseArgSpec(text)));
           })
      .def("types",
           [](const Specialization &self) {
             py::list types;
             for (const ArgSpec &spec : self.args)
               types.append(typeOf(spec));
             return types;
           })
      .def("append_constant", [](Specialization &self, py::handle value) {
        ArgSpec spec;
        spec.value = toConstValue(value);
        self.args.push_back(std::move(spec));
      });
}

py::bytes toBytes(const std::string &text) { return {text.data(), text.size()}; }

/// Rows (kind, technique, message, rendered, file, line, column) of the remarks.
py::list describeRemarks(const Kernel &kernel) {
  py::list rows;
  for (const Remark &remark : kernel->remarks)
    rows.append(py::make_tuple(toString(remark.kind), toString(remark.technique), remark.message,
                               remark.rendered, remark.range.file, remark.range.line,
                               remark.range.column));
  return rows;
}

/// The driver's (module, function) on a GPU, as numbers.
py::tuple handlesOf(const Kernel &kernel, int device) {
  const Result<CodeHandles> handles = [&] {
    py::gil_scoped_release release;
    return codeHandles(kernel, device);
  }();
  const CodeHandles found = unwrap(handles, "launch");
  return py::make_tuple(found.module, found.function);
}

/// Rows (name, summary, isOptional, isDefault) of the passes, in order.
py::list describePasses() {
  py::list rows;
  for (const PassListing &pass : listPasses())
    rows.append(py::make_tuple(pass.name, pass.summary, pass.isOptional, pass.isDefault));
  return rows;
}

/// The bytes of an artifact with this kernel alone.
py::bytes kernelBytes(const Kernel &kernel) {
  const Result<std::string> bytes = [&]() -> Result<std::string> {
    py::gil_scoped_release release;
    Artifact artifact;
    if (Result<void> added = artifact.add(kernel); !added)
      return added.error();
    return artifact.serialize();
  }();
  return toBytes(unwrap(bytes, "launch"));
}

Kernel kernelOfBytes(const py::bytes &bytes) {
  const std::string text = bytes;
  Result<Artifact> parsed = [&] {
    py::gil_scoped_release release;
    return Artifact::parse(text);
  }();
  const Artifact artifact = unwrap(std::move(parsed), "launch");
  if (artifact.kernels().size() != 1)
    throw py::value_error("the artifact has " + std::to_string(artifact.kernels().size()) +
                          " kernels, expected one");
  return artifact.kernels().front();
}

void bindKernel(py::module_ &module) {
  py::class_<Kernel>(module, "Kernel")
      .def_property_readonly("name", [](const Kernel &kernel) { return kernel->name; })
      .def_property_readonly("options", [](const Kernel &kernel) { return kernel->options; })
      .def_property_readonly("text", [](const Kernel &kernel) { return kernel->text; })
      .def_property_readonly("cubin", [](const Kernel &kernel) { return toBytes(kernel->cubin); })
      .def_property_readonly("shared", [](const Kernel &kernel) { return kernel->sharedBytes; })
      .def_property_readonly("num_warps", [](const Kernel &kernel) { return kernel->numWarps; })
      .def_property_readonly("registers", [](const Kernel &kernel) { return kernel->registers; })
      .def_property_readonly("spills", [](const Kernel &kernel) { return kernel->spills; })
      .def_property_readonly("hash", [](const Kernel &kernel) { return kernel->hash; })
      .def_property_readonly("needs_beyond_arguments",
                             [](const Kernel &kernel) { return needsBeyondArguments(*kernel); })
      .def_property_readonly("persistent", [](const Kernel &kernel) { return kernel->persistent; })
      .def_property_readonly("blocks_per_program",
                             [](const Kernel &kernel) { return kernel->ctasPerProgram; })
      .def_property_readonly("written", [](const Kernel &kernel) { return kernel->written; })
      .def_property_readonly("tensor_maps",
                             [](const Kernel &kernel) { return kernel->tensorMaps.size(); })
      .def_property_readonly("from_cache", [](const Kernel &kernel) { return kernel->fromCache; })
      .def_property_readonly("timings", [](const Kernel &kernel) { return kernel->timings; })
      .def_property_readonly("remarks", &describeRemarks)
      .def_property_readonly("warnings", [](const Kernel &kernel) { return kernel->warnings; })
      .def("handles", &handlesOf, py::arg("device"))
      .def("to_bytes", &kernelBytes)
      .def_static("of_bytes", &kernelOfBytes);
  module.def("compile", &compile, py::arg("program"), py::arg("specialization"), py::arg("options"),
             py::arg("dump_dir") = "", py::arg("use_cache") = true, py::arg("stop_after") = "cubin",
             py::arg("remarks") = false);
  module.def("list_passes", &describePasses);
}

py::dict describeDevice(int device) {
  const DeviceInfo info = unwrap(deviceInfo(device), "launch");
  py::dict result;
  result["name"] = info.name;
  result["target"] = info.target;
  result["multiprocessor_count"] = info.multiprocessors;
  result["max_shared_mem"] = info.maxSharedBytes;
  result["max_num_regs"] = info.maxRegisters;
  result["warpSize"] = info.warpSize;
  result["sm_clock_rate"] = info.clockKHz;
  result["mem_clock_rate"] = info.memoryClockKHz;
  result["mem_bus_width"] = info.memoryBusBits;
  result["l2_cache_size"] = info.l2Bytes;
  return result;
}

void bindDevices(py::module_ &module) {
  module.def("device_count", &deviceCount);
  module.def("device_info", &describeDevice);
  module.def("current_device", &currentDevice);
  module.def("current_stream", &currentStream);
  module.def("choose_stream", &chooseStream, py::arg("stream") = std::nullopt);
  module.def("is_capturing",
             [](int device) { return deviceCount() > 0 && isCapturing(currentStream(device)); });
  module.def("synchronize", [](int device) {
    const Result<void> done = [&] {
      py::gil_scoped_release release;
      return synchronize(device);
    }();
    unwrap(done, "launch");
  });
  module.def("release_workspaces", [](int device) {
    const Result<uint64_t> bytes = [&]() -> Result<uint64_t> {
      py::gil_scoped_release release;
      return deviceCount() > 0 ? releaseWorkspaces(device) : uint64_t(0);
    }();
    return unwrap(bytes, "launch");
  });
  module.def("cache_directory", &cacheDirectory);
  module.def("version_text", &versionText);
  module.def("take_warnings", &takeWarnings);
}

py::dict describeLaunches() {
  const LaunchStats &stats = LaunchStats::ofProcess();
  py::dict result;
  result["launches"] = stats.hits.load() + stats.misses.load();
  result["hits"] = stats.hits.load();
  result["shortcuts"] = stats.shortcuts.load();
  result["misses"] = stats.misses.load();
  result["compiles"] = stats.compiles.load();
  result["loads"] = stats.loads.load();
  return result;
}

/// Rows (space, name, signature, summary, isMethod, types, errors, parameters) of the language's
/// functions; a parameter is (name, type, meaning).
py::list describeLanguage() {
  py::list rows;
  for (const LanguageFunction &row : languageFunctions()) {
    py::list parameters;
    for (const LanguageParameter &parameter : row.parameters)
      parameters.append(py::make_tuple(parameter.name, parameter.type, parameter.meaning));
    rows.append(py::make_tuple(row.space, row.name, row.signature, row.summary, row.isMethod,
                               row.types, row.errors, parameters));
  }
  return rows;
}

} // namespace
} // namespace pantile::python

PYBIND11_MODULE(_pantile, module) {
  using namespace pantile::python;
  module.doc() = "the compiler and the runtime behind pantile";
  bindValues(module);
  bindOptions(module);
  bindKernel(module);
  bindDispatcher(module);
  bindDirectRun(module);
  bindRunFunction(module);
  bindLauncher(module);
  bindLaunchers(module);
  bindDevices(module);
  bindPredict(module);
  bindTune(module);
  bindProfiler(module);
  bindStore(module);
  bindTritonIr(module);
  bindWatch(module);
  bindXlaCall(module);
  module.def("launch_stats", &describeLaunches);
  module.def("language_functions", &describeLanguage);
}
