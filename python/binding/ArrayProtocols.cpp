//===- ArrayProtocols.cpp - arrays of other libraries as pointer arguments --------------===//
// How: The bounds of host memory are those of the storage that owns it, not of the view: strides
//      may lead a kernel from a view to other parts of the storage.
//===-----------------------------------------------------------------------------------===//
#include "ArrayProtocols.h"
#include "Dlpack.h"
#include "TableLock.h"
#include <pybind11/numpy.h>
#include <unordered_map>

namespace py = pybind11;

namespace pantile::python {

const char *requireDtypeName(const std::string &dtype) {
  if (const char *name = shortDtypeName(dtype))
    return name;
  throw py::type_error("arrays of `" + dtype + "` cannot be passed to a kernel");
}

namespace {

Argument pointer(Argument::Place place, int device, const char *dtype, uint64_t address) {
  Argument argument;
  argument.kind = Argument::Kind::Pointer;
  argument.place = place, argument.device = device, argument.dtype = dtype;
  argument.launch = LaunchArg::ptr(reinterpret_cast<const void *>(address));
  return argument;
}

/// The short name of a dtype object, cached by the object's identity; a string may be a new one
/// each time.
const char *nameOfDtype(const py::object &dtype) {
  if (PyUnicode_Check(dtype.ptr()))
    return requireDtypeName(dtype.cast<std::string>());
  static auto *known = new std::unordered_map<PyObject *, const char *>();
  static TableLock::Mutex mutex;
  {
    const TableLock lock(mutex);
    if (auto found = known->find(dtype.ptr()); found != known->end())
      return found->second;
  }
  const char *name = requireDtypeName(py::str(dtype).cast<std::string>());
  const TableLock lock(mutex);
  // Bounded, for arrays that create a dtype at each query.
  if (known->size() < 256 && known->emplace(dtype.ptr(), name).second)
    dtype.inc_ref();
  return name;
}

const char *nameOfNumpyDtype(const py::dtype &dtype) {
  static auto *known = new std::unordered_map<int, const char *>();
  static TableLock::Mutex mutex;
  {
    const TableLock lock(mutex);
    if (auto found = known->find(dtype.num()); found != known->end())
      return found->second;
  }
  const char *name = requireDtypeName(dtype.attr("name").cast<std::string>());
  const TableLock lock(mutex);
  known->emplace(dtype.num(), name);
  return name;
}

/// "<f2" of the array interfaces.
const char *nameOfTypestr(const std::string &typestr) {
  static constexpr std::pair<const char *, const char *> names[] = {
      {"f2", "fp16"}, {"f4", "fp32"}, {"f8", "fp64"}, {"i1", "i8"},  {"i2", "i16"},
      {"i4", "i32"},  {"i8", "i64"},  {"u1", "u8"},   {"u2", "u16"}, {"u4", "u32"},
      {"u8", "u64"},  {"b1", "i1"},   {"c8", "c64"}};
  for (auto [type, name] : names)
    if (typestr.size() == 3 && typestr[0] != '>' && typestr.substr(1) == type)
      return name;
  throw py::type_error("arrays of type `" + typestr + "` cannot be passed to a kernel");
}

/// The range of addresses that an array spans, also with negative strides.
std::pair<uint64_t, uint64_t> extentOf(const py::array &array) {
  auto begin = reinterpret_cast<uint64_t>(array.data());
  uint64_t end = begin + array.itemsize();
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.shape(axis) == 0)
      return {begin, begin};
    const int64_t reach = static_cast<int64_t>(array.shape(axis) - 1) * array.strides(axis);
    (reach < 0 ? begin : end) += reach;
  }
  return {begin, end};
}

} // namespace

Argument readNumpy(py::handle object) {
  auto owner = py::reinterpret_borrow<py::array>(object);
  if (owner.dtype().byteorder() == '>')
    throw py::type_error("arrays of `" + py::str(owner.dtype()).cast<std::string>() +
                         "` cannot be passed to a kernel: their bytes are in the other order");
  Argument argument = pointer(Argument::Place::Host, 0, nameOfNumpyDtype(owner.dtype()),
                              reinterpret_cast<uint64_t>(owner.data()));
  argument.launch.isReadOnly = !owner.writeable();
  while (true) {
    const py::object base = owner.base();
    if (!base || !py::isinstance<py::array>(base))
      break;
    owner = py::reinterpret_borrow<py::array>(base);
  }
  std::tie(argument.launch.begin, argument.launch.end) = extentOf(owner);
  return argument;
}

Argument readTorchLike(py::handle tensor) {
  const char *dtype = nameOfDtype(tensor.attr("dtype"));
  const auto address = tensor.attr("data_ptr")().cast<uint64_t>();
  if (!py::hasattr(tensor, "device"))
    return pointer(Argument::Place::Unknown, 0, dtype, address);
  const py::object device = tensor.attr("device");
  const auto type = py::str(py::getattr(device, "type", device)).cast<std::string>();
  if (type == "cpu") {
    Argument argument = pointer(Argument::Place::Host, 0, dtype, address);
    if (py::hasattr(tensor, "untyped_storage")) {
      const py::object storage = tensor.attr("untyped_storage")();
      argument.launch.begin = storage.attr("data_ptr")().cast<uint64_t>();
      argument.launch.end = argument.launch.begin + storage.attr("nbytes")().cast<uint64_t>();
    }
    return argument;
  }
  if (type != "cuda")
    throw py::type_error("tensors on device `" + type + "` cannot be passed to a kernel");
  const py::object index = py::getattr(device, "index", py::none());
  return pointer(Argument::Place::Device, index.is_none() ? 0 : index.cast<int>(), dtype, address);
}

Argument readCudaArray(py::handle array) {
  const py::object found = py::getattr(array, "__cuda_array_interface__", py::none());
  if (found.is_none() && py::hasattr(array, "__dlpack__"))
    return readDLPack(array); // like JAX's arrays on the host, whose type has the interface
  const auto interface =
      (found.is_none() ? array.attr("__cuda_array_interface__") : found).cast<py::dict>();
  const auto data = interface["data"].cast<py::tuple>();
  int device = 0;
  if (py::hasattr(array, "device") && py::hasattr(array.attr("device"), "id"))
    device = array.attr("device").attr("id").cast<int>();
  return pointer(Argument::Place::Device, device,
                 nameOfTypestr(interface["typestr"].cast<std::string>()), data[0].cast<uint64_t>());
}

Argument readHostArray(py::handle array) {
  const auto interface = array.attr("__array_interface__").cast<py::dict>();
  const auto typestr = interface["typestr"].cast<std::string>();
  const auto data = interface["data"].cast<py::tuple>();
  Argument argument =
      pointer(Argument::Place::Host, 0, nameOfTypestr(typestr), data[0].cast<uint64_t>());
  const bool contiguous = !interface.contains("strides") || interface["strides"].is_none();
  if (contiguous) {
    uint64_t bytes = typestr[2] - '0';
    for (py::handle extent : interface["shape"].cast<py::tuple>())
      bytes *= extent.cast<uint64_t>();
    argument.launch.begin = argument.launch.pointer;
    argument.launch.end = argument.launch.begin + bytes;
  }
  return argument;
}

Argument readDLPack(py::handle tensor) {
  const py::object capsule = tensor.attr("__dlpack__")();
  const auto *head = static_cast<const DLTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!head)
    throw py::error_already_set();
  const bool host = head->deviceType == DLTensor::Cpu || head->deviceType == DLTensor::CudaHost;
  if (!host && head->deviceType != DLTensor::Cuda && head->deviceType != DLTensor::CudaManaged)
    throw py::type_error("a DLPack tensor of device type " + std::to_string(head->deviceType) +
                         " cannot be passed to a kernel");
  const char *name = nameOfDLType(*head);
  if (!name)
    throw py::type_error("a DLPack tensor of type code " + std::to_string(head->code) + " and " +
                         std::to_string(head->bits) + " bits cannot be passed to a kernel");
  return pointer(host ? Argument::Place::Host : Argument::Place::Device, host ? 0 : head->deviceId,
                 name, head->address());
}

} // namespace pantile::python
