//===- DirectRun.cpp - see DirectRun.h ---------------------------------------------------===//
#include "DirectRun.h"
#include "LaunchStats.h"
#include "LaunchTable.h"
#include "PythonNumbers.h"
#include "TensorAccess.h"
#include <array>
#include <bit>
#include <limits>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// Bits of an integer type ("i32", "u8"); 0 for another.
int bitsOfInteger(const std::string &dtype) {
  for (int bits : {8, 16, 32, 64})
    if (dtype.size() > 1 && (dtype[0] == 'i' || dtype[0] == 'u') &&
        dtype.substr(1) == std::to_string(bits))
      return bits;
  return 0;
}

} // namespace

DirectRun::Reading DirectRun::readingOf(const ArgSpec &spec) {
  Reading reading;
  reading.mask = static_cast<uint8_t>(spec.divisibility - 1);
  const int bits = bitsOfInteger(spec.dtype);
  const bool isScalar = spec.kind == ArgSpec::Kind::Scalar;
  if (spec.divisibility < 1 || spec.divisibility > 16 ||
      !std::has_single_bit(unsigned(spec.divisibility)))
    return reading;
  if (spec.kind == ArgSpec::Kind::Constant)
    reading.kind = Reading::Kind::Nothing;
  else if (spec.kind == ArgSpec::Kind::Pointer)
    reading.kind = Reading::Kind::Address;
  else if (isScalar && (spec.dtype == "i1" || spec.dtype == "u1"))
    reading.kind = Reading::Kind::Bool;
  else if (isScalar && spec.dtype == "fp32")
    reading.kind = Reading::Kind::Fp32;
  else if (isScalar && spec.dtype == "fp64")
    reading.kind = Reading::Kind::Fp64;
  else if (isScalar && bits > 0) {
    const bool isSigned = spec.dtype[0] == 'i';
    const int valueBits = isSigned || bits == 64 ? bits - 1 : bits;
    reading.kind = Reading::Kind::Integer;
    reading.most = static_cast<int64_t>((uint64_t(1) << valueBits) - 1);
    reading.least = isSigned ? -reading.most - 1 : 0;
  }
  return reading;
}

DirectRun::DirectRun(Kernel kernel, std::vector<bool> isConstexpr) : kernel(std::move(kernel)) {
  const std::vector<ArgSpec> &specs = this->kernel->args;
  for (size_t i = 0; i < specs.size(); ++i) {
    Reading reading = readingOf(specs[i]);
    reading.mayBeAbsent = i < isConstexpr.size() && isConstexpr[i];
    present += !reading.mayBeAbsent;
    readings.push_back(reading);
  }
}

bool DirectRun::readAddress(PyObject *object, uint64_t &address, int &device) {
  int64_t value = 0;
  if (readInteger(object, value)) {
    address = static_cast<uint64_t>(value);
    return value >= 0;
  }
  DeviceTensor tensor;
  if (!readDeviceTensor(object, tensor) || (device >= 0 && device != tensor.device))
    return false;
  address = tensor.address, device = tensor.device;
  return true;
}

bool DirectRun::readValue(const Reading &reading, PyObject *object, uint64_t &slot, int &device) {
  int64_t value = 0;
  switch (reading.kind) {
  case Reading::Kind::Address:
    return readAddress(object, slot, device) && (slot & reading.mask) == 0;
  case Reading::Kind::Integer:
    if (!readInteger(object, value))
      return false;
    slot = static_cast<uint64_t>(value);
    return value >= reading.least && value <= reading.most && (slot & reading.mask) == 0;
  case Reading::Kind::Bool:
    slot = object == Py_True;
    return PyBool_Check(object);
  default:
    if (!PyFloat_CheckExact(object))
      return false;
    const double real = PyFloat_AS_DOUBLE(object);
    slot = reading.kind == Reading::Kind::Fp64 ? std::bit_cast<uint64_t>(real)
                                               : std::bit_cast<uint32_t>(static_cast<float>(real));
    return reading.kind != Reading::Kind::Unknown;
  }
}

bool DirectRun::read(std::span<PyObject *const> args, uint64_t *slots, int &device) const {
  const bool hasAll = args.size() == readings.size();
  if (!hasAll && args.size() != present)
    return false;
  size_t next = 0;
  for (const Reading &reading : readings) {
    if (!hasAll && reading.mayBeAbsent && reading.kind != Reading::Kind::Nothing)
      return false;
    if (!hasAll && reading.mayBeAbsent)
      continue;
    PyObject *object = args[next++];
    if (reading.kind != Reading::Kind::Nothing && !readValue(reading, object, *slots++, device))
      return false;
  }
  return device >= 0 && device < knownDeviceCount();
}

const ReadyLaunch *DirectRun::readyOn(int device) {
  const TableLock lock(mutex);
  if (static_cast<size_t>(device) >= ready.size())
    ready.resize(device + 1);
  auto &found = ready[device];
  if (!found)
    found = ReadyLaunch::of(kernel, {.device = device});
  return found.get();
}

bool DirectRun::operator()(const Grid &grid, uint64_t stream, std::span<PyObject *const> args) {
  std::array<uint64_t, ReadyLaunch::mostSlots> slots;
  int device = -1;
  if (LaunchTable::isLeftOut.load(std::memory_order_relaxed) || readings.size() > slots.size() ||
      !read(args, slots.data(), device))
    return false;
  const ReadyLaunch *launch = readyOn(device);
  if (!launch)
    return false;
  PyThreadState *released = PyEval_SaveThread();
  const bool isQueued = (*launch)(grid, slots.data(), stream);
  PyEval_RestoreThread(released);
  if (isQueued) {
    LaunchStats::countHeld(LaunchStats::ofProcess().hits);
    LaunchStats::countHeld(LaunchStats::ofProcess().shortcuts);
  }
  return isQueued;
}

void bindDirectRun(py::module_ &module) {
  py::class_<DirectRun>(module, "DirectRun").def(py::init<Kernel, std::vector<bool>>());
}

} // namespace pantile::python
