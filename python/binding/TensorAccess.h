//===- TensorAccess.h - reading torch's tensors -----------------------------------------===//
// Needs: the GIL, or on a build without it nothing. Imports nothing.
// Gives: element type, address and device of a tensor on a GPU.
// How:   C functions that are looked up once per type and called directly (DLPack's, else the
//        implementations of `dtype`, `data_ptr`, `is_cuda` and `get_device`): no attribute look-up,
//        no bound method, no struct offset.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <cstdint>

namespace pantile::python {

/// A tensor in device memory. `dtype` is static.
struct DeviceTensor {
  const char *dtype = nullptr;
  uint64_t address = 0;
  int device = 0;
};

/// Whether `object` is a tensor of torch's kind on a GPU and could be read; leaves no Python error.
/// False says nothing about why.
bool readDeviceTensor(PyObject *object, DeviceTensor &tensor);

/// GPUs of this process, counted once.
int knownDeviceCount();

} // namespace pantile::python
