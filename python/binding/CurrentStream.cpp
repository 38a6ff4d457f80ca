//===- CurrentStream.cpp - the current stream of the caller's library --------------------===//
// How: torch's functions are looked up once, as every launch calls them: DLPack's, which is a C
//      function, else the one for Python.
//===-----------------------------------------------------------------------------------===//
#include "CurrentStream.h"
#include "Dlpack.h"
#include <atomic>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace pantile::python {
namespace {

/// The loaded module `name`, borrowed; null if it is not imported: then no argument comes from it.
PyObject *loadedModule(const char *name) {
  return PyDict_GetItemString(PyImport_GetModuleDict(), name);
}

/// torch's functions of a device; all null if torch is not loaded, or has none for GPUs.
struct Torch {
  const DLExchange *exchange = nullptr;
  PyObject *streamOf = nullptr; ///< from a device to its current stream
  PyObject *deviceNow = nullptr;
};

PyObject *attributeOf(PyObject *object, const char *name) {
  PyObject *found = object ? PyObject_GetAttrString(object, name) : nullptr;
  PyErr_Clear();
  return found;
}

const Torch *describeTorch(PyObject *core) {
  auto *made = new Torch(); // kept for ever, with the functions
  made->streamOf = attributeOf(core, "_cuda_getCurrentRawStream");
  made->deviceNow = attributeOf(core, "_cuda_getDevice");
  PyObject *tensor = attributeOf(loadedModule("torch"), "Tensor");
  if (tensor && PyType_Check(tensor))
    made->exchange = exchangeOf(reinterpret_cast<PyTypeObject *>(tensor));
  if (made->exchange && !made->exchange->currentStream)
    made->exchange = nullptr;
  return made;
}

const Torch &torchFunctions() {
  static const Torch none;
  static std::atomic<const Torch *> known = nullptr;
  if (const Torch *torch = known.load(std::memory_order_acquire))
    return *torch;
  static PyObject *const name = PyUnicode_InternFromString("torch._C");
  PyObject *core = PyDict_GetItemWithError(PyImport_GetModuleDict(), name);
  // While torch is being imported, it has no class of tensors yet.
  PyObject *torch = core ? loadedModule("torch") : nullptr;
  if (!torch || !PyObject_HasAttrString(torch, "Tensor"))
    return none;
  const Torch *made = describeTorch(core);
  known.store(made, std::memory_order_release);
  return *made;
}

uint64_t askPython(PyObject *streamOf, int device) {
  const auto ordinal = py::reinterpret_steal<py::object>(PyLong_FromLong(device));
  const auto stream =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(streamOf, ordinal.ptr()));
  if (!stream)
    throw py::error_already_set();
  return PyLong_AsUnsignedLongLongMask(stream.ptr());
}

/// The stream of a thread's launches, if the thread has set one.
thread_local std::optional<uint64_t> chosenStream;

} // namespace

void chooseStream(std::optional<uint64_t> stream) { chosenStream = stream; }

uint64_t currentStream(int device) {
  if (chosenStream)
    return *chosenStream;
  const Torch &torch = torchFunctions();
  if (torch.exchange) {
    void *stream = nullptr;
    if (torch.exchange->currentStream(DLTensor::Cuda, device, &stream) == 0)
      return reinterpret_cast<uint64_t>(stream);
    PyErr_Clear(); // the other function reports the error, or succeeds
  }
  if (torch.streamOf)
    return askPython(torch.streamOf, device);
  if (PyObject *cupy = loadedModule("cupy"))
    return py::handle(cupy).attr("cuda").attr("get_current_stream")().attr("ptr").cast<uint64_t>();
  return 0;
}

int currentDevice() {
  if (PyObject *deviceNow = torchFunctions().deviceNow) {
    const auto device = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(deviceNow));
    if (!device)
      throw py::error_already_set();
    return device.cast<int>();
  }
  if (PyObject *cupy = loadedModule("cupy"))
    return py::handle(cupy).attr("cuda").attr("runtime").attr("getDevice")().cast<int>();
  return 0;
}

} // namespace pantile::python
