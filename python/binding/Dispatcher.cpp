//===- Dispatcher.cpp - from a call's arguments to a kernel -----------------------------===//
// How: 1. bind positional, keyword and default arguments; keywords left over are options
//      2. classify each argument that is not constexpr
//      3. target: the GPU of the device pointers, the CPU for host arrays, never both
//      4. key: a letter and a type for each parameter, constants by value, then settings of the
//         process and the options
// Invariant: two calls with one key compile to the same kernel.
//===-----------------------------------------------------------------------------------===//
#include "Dispatcher.h"
#include "CompileSettings.h"
#include "CurrentStream.h"
#include "Errors.h"
#include "LaunchGrid.h"
#include "LaunchKey.h"
#include "Values.h"
#include <algorithm>
#include <map>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

std::string quoted(const std::string &name) { return "`" + name + "`"; }

/// "sm_90a" of a device, queried once.
std::string targetOfDevice(int device) {
  static auto *known = new std::map<int, std::string>();
  static TableLock::Mutex mutex;
  const TableLock lock(mutex);
  if (auto found = known->find(device); found != known->end())
    return found->second;
  return (*known)[device] = unwrap(deviceInfo(device), "launch").target;
}

bool isFloatType(const std::string &type) {
  return type.starts_with("fp") || type.starts_with("bf");
}

bool isPointerType(const std::string &type) { return type.starts_with('*'); }

/// A number for a parameter whose annotation fixes its type.
void applyFixedType(Argument &argument, const Parameter &parameter) {
  if (parameter.fixedType.empty())
    return;
  const bool isNumber = argument.kind == Argument::Kind::Int ||
                        argument.kind == Argument::Kind::Float ||
                        argument.kind == Argument::Kind::Bool;
  if (!isNumber)
    return;
  if (isPointerType(parameter.fixedType)) {
    if (argument.kind != Argument::Kind::Int)
      throw py::type_error("argument " + quoted(parameter.name) + " is annotated " +
                           quoted(parameter.fixedType) + ", but is no array and no address");
    argument.kind = Argument::Kind::Pointer;
    argument.launch = LaunchArg::ptr(reinterpret_cast<const void *>(argument.launch.integer));
    argument.dtype = requireDtypeName(parameter.fixedType.substr(1));
    return;
  }
  if (isFloatType(parameter.fixedType)) {
    if (argument.kind != Argument::Kind::Float)
      argument.launch = LaunchArg::f(static_cast<double>(argument.launch.integer));
    argument.kind = Argument::Kind::Float;
  } else if (argument.kind == Argument::Kind::Float) {
    throw py::type_error("argument " + quoted(parameter.name) + " is a float, but is annotated " +
                         quoted(parameter.fixedType));
  } else {
    argument.kind = Argument::Kind::Int;
  }
  argument.dtype = parameter.fixedType.c_str();
}

std::string describe(py::handle value, const Parameter &parameter, const char *place) {
  return std::string(place) + " array " + quoted(parameter.name) + " (" +
         Py_TYPE(value.ptr())->tp_name + ")";
}

ParameterRules rulesOf(const Parameter &parameter) {
  return {parameter.isConstexpr,
          parameter.specializeValue,
          parameter.specializeAlignment,
          !parameter.fixedType.empty(),
          isFloatType(parameter.fixedType),
          isPointerType(parameter.fixedType)};
}

} // namespace

void showWarnings(const std::string &text) {
  if (!text.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 2) < 0)
    throw py::error_already_set();
}

static bool isOptionName(const std::string &name) {
  return name == "num_warps" || name == "num_stages" || name == "num_ctas" || name == "maxnreg";
}

Dispatcher::Dispatcher(std::string name, std::vector<Parameter> parameters)
    : name(std::move(name)), parameters(std::move(parameters)) {
  for (size_t i = 0; i < this->parameters.size(); ++i) {
    const Parameter &parameter = this->parameters[i];
    indexOf.emplace(parameter.name, i);
    rules.push_back(rulesOf(parameter));
    optionsToo.push_back(isOptionName(parameter.name));
    PyObject *interned = PyUnicode_InternFromString(parameter.name.c_str());
    names.push_back(py::reinterpret_steal<py::object>(interned));
  }
}

int Dispatcher::find(PyObject *keyword) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].ptr() == keyword)
      return static_cast<int>(i);
  for (size_t i = 0; i < names.size(); ++i)
    if (PyUnicode_Compare(names[i].ptr(), keyword) == 0)
      return static_cast<int>(i);
  return -1;
}

int Dispatcher::traverse(visitproc visit, void *arg) const {
  for (const auto &[key, entry] : kernels)
    Py_VISIT(entry.compiled.ptr());
  for (const Parameter &parameter : parameters)
    Py_VISIT(parameter.defaultValue.ptr());
  for (const Watch &watch : watches)
    if (int result = watch.traverse(visit, arg))
      return result;
  Py_VISIT(preRunHooks.ptr());
  return warm.traverse(visit, arg);
}

void Dispatcher::clear() {
  std::unordered_map<std::string, Entry> dropped;
  {
    const TableLock lock(mutex);
    dropped.swap(kernels);
  }
  warm.clear();
}

void Dispatcher::bind(Call &call, const py::args &args, const py::kwargs &kwargs) const {
  if (args.size() > parameters.size())
    throw py::type_error("kernel " + quoted(name) + " takes " + std::to_string(parameters.size()) +
                         " arguments, but got " + std::to_string(args.size()));
  call.values.resize(parameters.size());
  for (size_t i = 0; i < args.size(); ++i)
    call.values[i] = args[i];
  for (auto [key, value] : kwargs) {
    const auto found = indexOf.find(key.cast<std::string>());
    if (found == indexOf.end()) {
      call.options[key] = value;
      continue;
    }
    if (call.values[found->second])
      throw py::type_error("kernel " + quoted(name) + " got multiple values for argument " +
                           quoted(found->first));
    call.values[found->second] = py::reinterpret_borrow<py::object>(value);
    if (optionsToo[found->second] && !value.is_none())
      call.options[key] = value;
  }
  std::string missing;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!call.values[i])
      call.values[i] = parameters[i].defaultValue;
    if (!call.values[i])
      missing += (missing.empty() ? "" : ", ") + quoted(parameters[i].name);
  }
  if (!missing.empty())
    throw py::type_error("kernel " + quoted(name) + " is missing a value for " + missing);
}

void Dispatcher::classifyAll(Call &call) const {
  call.arguments.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].isConstexpr)
      continue;
    call.arguments[i] = naming(parameters[i], [&] { return classify(call.values[i]); });
    applyFixedType(call.arguments[i], parameters[i]);
  }
}

/// Calls `visit(argument, object, parameter index)` for every array of a call.
template <typename Visit> static void forEachPointer(const Call &call, const Visit &visit) {
  for (size_t i = 0; i < call.arguments.size(); ++i)
    forEachLeaf(call.arguments[i], call.values[i], [&](const Argument &leaf, py::handle value) {
      if (leaf.kind == Argument::Kind::Pointer)
        visit(leaf, value, i);
    });
}

void Dispatcher::chooseTarget(Call &call) const {
  // The array that determines the device, its object and its parameter.
  const Argument *device = nullptr;
  py::handle deviceValue;
  size_t deviceParameter = 0;
  bool host = false;
  forEachPointer(call, [&](const Argument &argument, py::handle value, size_t i) {
    host |= argument.place == Argument::Place::Host;
    if (argument.place != Argument::Place::Device)
      return;
    if (device && device->device != argument.device)
      throw py::value_error("kernel " + quoted(name) + " got arrays of two devices: " +
                            quoted(parameters[deviceParameter].name) + " on device " +
                            std::to_string(device->device) + ", " + quoted(parameters[i].name) +
                            " on device " + std::to_string(argument.device));
    device = &argument, deviceValue = value, deviceParameter = i;
  });
  if (host && device)
    forEachPointer(call, [&](const Argument &argument, py::handle value, size_t i) {
      if (argument.place == Argument::Place::Host && !isPinned(value))
        throw py::value_error("kernel " + quoted(name) + " got " +
                              describe(value, parameters[i], "host") + " and " +
                              describe(deviceValue, parameters[deviceParameter], "device") +
                              ": move one of them to the other's side");
    });
  const bool onCpu = !device && (host || alwaysCpu || deviceCount() == 0);
  call.device = onCpu ? 0 : device ? device->device : currentDevice();
  call.target = onCpu ? "cpu" : targetOfDevice(call.device);
}

void Dispatcher::formKey(Call &call) const {
  std::string &key = call.key;
  key = call.target;
  for (size_t i = 0; i < parameters.size(); ++i) {
    key += '|';
    appendKey(key, call.arguments[i], parameters[i], call.values[i]);
  }
  if (const std::string &settings = CompileSettings::text(); !settings.empty())
    key += '|' + settings;
  if (call.options.empty())
    return;
  std::map<std::string, py::object> sorted;
  for (auto [option, value] : call.options)
    sorted.emplace(option.cast<std::string>(), py::reinterpret_borrow<py::object>(value));
  for (auto &[option, value] : sorted) {
    key += '|' + option + '=';
    py::isinstance<py::dict>(value) ? void(key += py::str(value).cast<std::string>())
                                    : appendConstantKey(key, value);
  }
}

Call Dispatcher::prepare(const py::args &args, const py::kwargs &kwargs) {
  Call call;
  call.dispatcher = shared_from_this();
  bind(call, args, kwargs);
  classifyAll(call);
  chooseTarget(call);
  formKey(call);
  call.compiled = py::none();
  const TableLock lock(mutex);
  if (auto found = kernels.find(call.key); found != kernels.end()) {
    call.compiled = found->second.compiled;
    call.kernel = found->second.kernel;
  }
  return call;
}

py::dict Call::named() const {
  py::dict result;
  for (size_t i = 0; i < values.size(); ++i)
    result[py::str(dispatcher->parameters[i].name)] = values[i];
  return result;
}

Specialization Call::specialization(const py::function &toConstant) const {
  Specialization specialization;
  for (size_t i = 0; i < values.size(); ++i)
    specialization.args.push_back(naming(dispatcher->parameters[i], [&] {
      return specOf(arguments[i], dispatcher->parameters[i], values[i], toConstant);
    }));
  return specialization;
}

void Call::adopt(py::object compiledKernel, Kernel found) {
  compiled = std::move(compiledKernel);
  kernel = std::move(found);
  dispatcher->install(key, compiled, kernel);
}

/// A kernel that was compiled for other arguments takes no object that is neither number nor array.
static void requireValue(const Parameter &parameter, const ArgSpec &spec, const Argument &argument,
                         py::handle value) {
  const bool isNone = argument.kind == Argument::Kind::None;
  const bool isScalar = spec.kind == ArgSpec::Kind::Scalar;
  if ((isScalar || spec.kind == ArgSpec::Kind::Pointer) &&
      (argument.kind == Argument::Kind::Constant || (isScalar && isNone)))
    throw py::type_error("argument " + quoted(parameter.name) + " is a " +
                         Py_TYPE(value.ptr())->tp_name + ", but the kernel was compiled for " +
                         (isScalar ? "a number of type " + quoted(spec.dtype)
                                   : "an array of " + quoted(spec.dtype)));
}

void Call::use(py::object compiledKernel, Kernel other) {
  for (size_t i = 0; i < arguments.size() && i < other->args.size(); ++i)
    if (!dispatcher->rules[i].isConstexpr)
      requireValue(dispatcher->parameters[i], other->args[i], arguments[i], values[i]);
  compiled = std::move(compiledKernel);
  kernel = std::move(other);
}

void Call::requireOnDevice() const {
  forEachPointer(*this, [&](const Argument &argument, py::handle value, size_t i) {
    if (argument.place == Argument::Place::Host && !isPinned(value))
      throw py::value_error("kernel " + quoted(dispatcher->name) + ", compiled for a GPU, got " +
                            describe(value, dispatcher->parameters[i], "host") +
                            ": move it to the GPU");
  });
}

void Dispatcher::install(const std::string &key, py::object compiled, Kernel kernel) {
  // Swapped, so that the old contents are destroyed outside the lock: that runs Python.
  Entry entry = {std::move(kernel), std::move(compiled)};
  const TableLock lock(mutex);
  std::swap(kernels[key], entry);
}

py::dict Dispatcher::entries() const {
  py::dict result;
  const TableLock lock(mutex);
  for (const auto &[key, entry] : kernels)
    result[py::str(key)] = entry.compiled;
  return result;
}

/// The GPU that a launch with these arguments would run on; -1 for the CPU.
static int deviceOf(const std::vector<py::object> &values) {
  bool host = false;
  std::optional<int> device;
  for (const py::object &value : values) {
    forEachLeaf(classify(value), value, [&](const Argument &leaf, py::handle) {
      const bool isPointer = leaf.kind == Argument::Kind::Pointer;
      host |= isPointer && leaf.place == Argument::Place::Host;
      if (isPointer && leaf.place == Argument::Place::Device)
        device = leaf.device;
    });
  }
  if (device)
    return *device;
  return host || deviceCount() == 0 ? -1 : currentDevice();
}

/// Makes objects of a bound class take part in Python's garbage collection: kernels refer to
/// functions that refer to the kernels.
template <typename T> static py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject *heap) {
    PyTypeObject &type = heap->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject *self, visitproc visit, void *arg) {
      Py_VISIT(Py_TYPE(self));
      if (!py::detail::is_holder_constructed(self))
        return 0;
      return py::handle(self).cast<T *>()->traverse(visit, arg);
    };
    type.tp_clear = [](PyObject *self) {
      if (py::detail::is_holder_constructed(self))
        py::handle(self).cast<T *>()->clear();
      return 0;
    };
  });
}

void bindDispatcher(py::module_ &module) {
  py::class_<Parameter>(module, "Parameter")
      .def(py::init([](std::string name, bool isConstexpr, bool value, bool alignment,
                       bool constPointer, std::string fixedType, bool hasDefault,
                       py::object defaultValue) {
        return Parameter{std::move(name),
                         isConstexpr,
                         value,
                         alignment,
                         constPointer,
                         std::move(fixedType),
                         hasDefault ? std::move(defaultValue) : py::object()};
      }));
  py::class_<Call>(module, "Call")
      .def_property_readonly("kernel", [](const Call &call) { return call.compiled; })
      .def_property_readonly("options", [](const Call &call) { return call.options; })
      .def_readonly("values", &Call::values)
      .def_readonly("target", &Call::target)
      .def_readonly("device", &Call::device)
      .def_readonly("key", &Call::key)
      .def("named", &Call::named)
      .def("arrays", &Call::arrays)
      .def("specialization", &Call::specialization)
      .def("adopt", &Call::adopt)
      .def("use", &Call::use)
      .def("require_on_device", &Call::requireOnDevice)
      .def("launch", &Call::launch, py::arg("grid"), py::arg("stream") = py::none());
  module.def("device_of", &deviceOf);
  module.def("use_settings", &CompileSettings::use);
  module.def("check_overlaps", [](bool isOn) { LaunchTable::isLeftOut = isOn; });
  py::class_<TunedTable>(module, "TunedTable", collected<TunedTable>())
      .def(py::init([](std::vector<int> parameters) {
        auto table = std::make_unique<TunedTable>();
        table->parameters = std::move(parameters);
        return table;
      }))
      .def("clear", [](TunedTable &self) { self.table.clear(); });
  py::class_<Dispatcher, std::shared_ptr<Dispatcher>>(module, "Dispatcher", collected<Dispatcher>())
      .def(py::init<std::string, std::vector<Parameter>>())
      .def("prepare", &Dispatcher::prepare)
      .def("install", &Dispatcher::install)
      .def("entries", &Dispatcher::entries)
      .def_readwrite("always_cpu", &Dispatcher::alwaysCpu)
      .def("watch",
           [](Dispatcher &self, const py::list &places) {
             std::vector<Watch> watches;
             for (py::handle place : places)
               watches.push_back(toWatch(place));
             self.setWatches(watches);
           })
      .def("set_pre_run_hooks",
           [](Dispatcher &self, py::list hooks) { self.preRunHooks = std::move(hooks); })
      .def("clear", &Dispatcher::clear);
}

} // namespace pantile::python
