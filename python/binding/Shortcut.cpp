//===- Shortcut.cpp - repeated calls of one form whose kernel is known -------------------===//
// How:   LaunchReader's rules, with each class of argument turned into one comparison.
//===-----------------------------------------------------------------------------------===//
#include "Shortcut.h"
#include "PythonNumbers.h"
#include "TensorAccess.h"
#include <algorithm>
#include <bit>
#include <limits>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// Type, size and count of the numbers of an element in one.
uint32_t elementOf(const DLTensor &tensor) {
  return tensor.code | tensor.bits << 8 | uint32_t{tensor.lanes} << 16;
}

bool isScalar(const ArgSpec &spec, const char *dtype) {
  return spec.kind == ArgSpec::Kind::Scalar && spec.dtype == dtype;
}

/// Whether objects of this type are constants by identity: their key string never changes.
bool isConstantByIdentity(PyObject *object) {
  if (object == Py_None || PyBool_Check(object) || PyUnicode_CheckExact(object) ||
      PyFloat_CheckExact(object))
    return true;
  const auto module = py::getattr(py::type::handle_of(object), "__module__", py::str(""));
  return py::isinstance<py::str>(module) &&
         module.cast<std::string_view>() == "pantile.language.dtypes";
}

/// The value that an integer must not have if any is allowed: such a call is read in full.
constexpr int64_t nothing = std::numeric_limits<int64_t>::min();

} // namespace

bool Shortcut::hasForm(const CallForm &form) const {
  if (form.count != positional)
    return false;
  if (form.names == names.ptr())
    return true;
  if (!form.names || !names || PyTuple_GET_SIZE(form.names) != PyTuple_GET_SIZE(names.ptr()))
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(form.names); ++i)
    if (PyTuple_GET_ITEM(form.names, i) != PyTuple_GET_ITEM(names.ptr(), i))
      return false;
  return true;
}

bool Shortcut::read(const CallForm &form, uint64_t *slots) const {
  if (!hasForm(form))
    return false;
  PyObject *const *next = form.args;
  for (const Step &step : steps) {
    PyObject *object = *next++;
    const bool isNumber = step.kind <= Step::Kind::Whole;
    if (!(isNumber ? readNumber(step, object, slots) : readOther(step, object, slots)))
      return false;
  }
  for (auto [slot, value] : presets)
    slots[slot] = value;
  return true;
}

inline bool Shortcut::readNumber(const Step &step, PyObject *object, uint64_t *slots) const {
  int64_t value = 0;
  if (!readInteger(object, value) || value == step.number ||
      ((value & step.mask) == 0) != step.aligned)
    return false;
  if (step.kind != Step::Kind::Whole &&
      (value == int32_t(value)) != (step.kind == Step::Kind::Narrow))
    return false;
  slots[step.slot] = static_cast<uint64_t>(value);
  return true;
}

bool Shortcut::readOther(const Step &step, PyObject *object, uint64_t *slots) const {
  using Kind = Step::Kind;
  int64_t value = 0;
  switch (step.kind) {
  case Kind::Tensor:
    return readTensor(step, object, slots);
  case Kind::Same:
    return object == step.object;
  case Kind::Constant:
    return readInteger(object, value) && value == step.number;
  case Kind::Bool:
    slots[step.slot] = object == Py_True;
    return PyBool_Check(object);
  default:
    if (!PyFloat_CheckExact(object))
      return false;
    const double real = PyFloat_AS_DOUBLE(object);
    slots[step.slot] = step.kind == Kind::Fp64 ? std::bit_cast<uint64_t>(real)
                                               : std::bit_cast<uint32_t>(static_cast<float>(real));
    return true;
  }
}

bool Shortcut::readTensor(const Step &step, PyObject *object, uint64_t *slots) const {
  uint64_t address = 0;
  if (step.exchange && Py_TYPE(object) == step.type) {
    DLTensor described;
    if (step.exchange->describe(object, &described) != 0) {
      PyErr_Clear();
      return false;
    }
    if (described.deviceType != DLTensor::Cuda || described.deviceId != device || !described.data ||
        elementOf(described) != step.element)
      return false;
    address = described.address();
  } else {
    DeviceTensor tensor;
    if (!readDeviceTensor(object, tensor) || tensor.dtype != step.dtype || tensor.device != device)
      return false;
    address = tensor.address;
  }
  slots[step.slot] = address;
  return ((address & step.mask) == 0) == step.aligned;
}

/// Makes the steps; each function returns whether it could.
struct Shortcut::Maker {
  const KnownCall &call;
  Shortcut &made;
  std::vector<int> slotOf; ///< by parameter; -1: a constant
  bool hasTensor = false;

  bool numberSlots();
  bool given(size_t position, PyObject *object, int parameter);
  bool absent(size_t parameter);
  bool parameter(size_t number, PyObject *object, Step &step);
  bool tuningKey(size_t number, PyObject *object, Step &step);
  bool constant(PyObject *object, Step &step);
  bool integer(size_t number, int64_t value, Step &step);
  bool real(size_t number, Step &step);
  bool tensor(size_t number, PyObject *object, Step &step);
  bool promise(size_t number, uint64_t value, bool counts, Step &step) const;
  bool isTuningKey(size_t number) const;
  bool all();
};

bool Shortcut::Maker::numberSlots() {
  const std::vector<ArgSpec> &specs = call.kernel->args;
  if (specs.size() != call.dispatcher.parameters.size() || specs.size() > ReadyLaunch::mostSlots)
    return false;
  int next = 0;
  for (const ArgSpec &spec : specs) {
    if (spec.kind == ArgSpec::Kind::Tuple || spec.kind == ArgSpec::Kind::Descriptor)
      return false;
    slotOf.push_back(spec.kind == ArgSpec::Kind::Constant ? -1 : next++);
  }
  return true;
}

bool Shortcut::Maker::isTuningKey(size_t number) const {
  return call.tuned && std::ranges::find(call.tuned->parameters, static_cast<int>(number)) !=
                           call.tuned->parameters.end();
}

bool Shortcut::Maker::constant(PyObject *object, Step &step) {
  step.kind = Step::Kind::Constant;
  if (readInteger(object, step.number))
    return true;
  step.kind = Step::Kind::Same, step.object = object;
  made.kept.push_back(py::reinterpret_borrow<py::object>(object));
  return isConstantByIdentity(object);
}

/// Whether `value` has the divisibility that the kernel was compiled for.
bool Shortcut::Maker::promise(size_t number, uint64_t value, bool counts, Step &step) const {
  const int divisibility = call.kernel->args[number].divisibility;
  step.mask = counts ? 15 : 0;
  step.aligned = (value & step.mask) == 0;
  return divisibility <= 1 || (divisibility == 16 && counts && step.aligned);
}

bool Shortcut::Maker::integer(size_t number, int64_t value, Step &step) {
  const ParameterRules &rules = call.dispatcher.rules[number];
  const ArgSpec &spec = call.kernel->args[number];
  const bool isNarrow = value == int32_t(value), is32 = isScalar(spec, "i32");
  if (rules.isFixedFloat || rules.isFixedPointer)
    return false;
  if (value == 1 && rules.specializeValue && !rules.isFixed)
    return constant(py::int_(1).ptr(), step) && slotOf[number] < 0;
  using Kind = Step::Kind;
  step.kind = is32 ? Kind::Narrow : rules.isFixed ? Kind::Whole : Kind::Wide;
  step.number = rules.specializeValue && !rules.isFixed ? 1 : nothing;
  return (is32 ? isNarrow : isScalar(spec, "i64") && (rules.isFixed || !isNarrow)) &&
         promise(number, value, rules.specializeAlignment && rules.specializeValue, step);
}

bool Shortcut::Maker::real(size_t number, Step &step) {
  const ArgSpec &spec = call.kernel->args[number];
  const ParameterRules &rules = call.dispatcher.rules[number];
  step.kind = isScalar(spec, "fp64") ? Step::Kind::Fp64 : Step::Kind::Fp32;
  return (isScalar(spec, "fp32") || isScalar(spec, "fp64")) &&
         (!rules.isFixed || rules.isFixedFloat);
}

bool Shortcut::Maker::tensor(size_t number, PyObject *object, Step &step) {
  DeviceTensor tensor;
  DLTensor described;
  if (call.kernel->args[number].kind != ArgSpec::Kind::Pointer ||
      !readDeviceTensor(object, tensor) || tensor.device != made.device)
    return false;
  step.kind = Step::Kind::Tensor, step.dtype = tensor.dtype, step.type = Py_TYPE(object);
  step.exchange = exchangeOf(step.type);
  if (step.exchange && step.exchange->describe(object, &described) == 0 && described.data)
    step.element = elementOf(described);
  else
    step.exchange = nullptr;
  PyErr_Clear();
  hasTensor = true;
  made.kept.push_back(py::reinterpret_borrow<py::object>(py::type::handle_of(object)));
  return promise(number, tensor.address, call.dispatcher.rules[number].specializeAlignment, step);
}

/// A value of the tuning key determines the configuration: it must be this one.
bool Shortcut::Maker::tuningKey(size_t number, PyObject *object, Step &step) {
  if (!integer(number, step.number, step) || !readInteger(object, step.number))
    return false;
  step.kind = Step::Kind::Constant;
  if (slotOf[number] >= 0)
    made.presets.emplace_back(slotOf[number], step.number);
  return true;
}

bool Shortcut::Maker::parameter(size_t number, PyObject *object, Step &step) {
  const bool takesSlot = slotOf[number] >= 0;
  if (takesSlot)
    step.slot = slotOf[number];
  if (call.dispatcher.rules[number].isConstexpr || object == Py_None)
    return !takesSlot && constant(object, step);
  int64_t value = 0;
  if (readInteger(object, value)) {
    step.number = value;
    return isTuningKey(number) ? tuningKey(number, object, step) : integer(number, value, step);
  }
  if (isTuningKey(number))
    return false;
  if (PyBool_Check(object)) {
    step.kind = Step::Kind::Bool;
    const ArgSpec &spec = call.kernel->args[number];
    return (isScalar(spec, "i1") || isScalar(spec, "u1")) && !call.dispatcher.rules[number].isFixed;
  }
  return PyFloat_CheckExact(object) ? real(number, step) : tensor(number, object, step);
}

bool Shortcut::Maker::given(size_t position, PyObject *object, int number) {
  Step &step = made.steps[position];
  return number < 0 ? constant(object, step) : parameter(number, object, step);
}

/// A parameter that the call omits has its default, if a launch passes it.
bool Shortcut::Maker::absent(size_t number) {
  PyObject *object = call.dispatcher.parameters[number].defaultValue.ptr();
  if (slotOf[number] < 0)
    return true;
  Step step;
  uint64_t values[ReadyLaunch::mostSlots];
  if (!object || !parameter(number, object, step) || step.kind == Step::Kind::Tensor ||
      !(step.kind <= Step::Kind::Whole ? made.readNumber(step, object, values)
                                       : made.readOther(step, object, values)))
    return false;
  if (step.kind != Step::Kind::Constant)
    made.presets.emplace_back(step.slot, values[step.slot]);
  return true;
}

bool Shortcut::Maker::all() {
  if (!numberSlots())
    return false;
  const auto [args, count, names] = call.form;
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  std::vector<bool> isGiven(slotOf.size());
  made.steps.resize(count + keywords);
  for (Py_ssize_t i = 0; i < count + keywords; ++i) {
    const int number =
        i < count ? static_cast<int>(i) : call.dispatcher.find(PyTuple_GET_ITEM(names, i - count));
    const bool setsOption = i >= count && number >= 0 && call.dispatcher.isOptionToo(number);
    if (setsOption && !call.dispatcher.rules[number].isConstexpr)
      return false;
    if (number >= 0)
      isGiven[number] = true;
    if (!given(i, args[i], number))
      return false;
  }
  for (size_t i = 0; i < isGiven.size(); ++i)
    if (!isGiven[i] && !absent(i))
      return false;
  return hasTensor;
}

std::unique_ptr<const Shortcut> Shortcut::of(const KnownCall &call) {
  auto made = std::make_unique<Shortcut>();
  made->positional = call.form.count, made->device = call.options.device;
  made->names = py::reinterpret_borrow<py::object>(call.form.names);
  if (!Maker{call, *made, {}}.all())
    return nullptr;
  made->launch = ReadyLaunch::of(call.kernel, call.options);
  return made->launch ? std::move(made) : nullptr;
}

} // namespace pantile::python
