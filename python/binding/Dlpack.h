//===- Dlpack.h - tensors in DLPack's ABI ------------------------------------------------===//
// Needs: the GIL.
// Gives: the header of a tensor; the short name of its element type; the table of C functions by
//        which a tensor type describes its objects without Python (DLPack 1.2 and later).
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <cstdint>

namespace pantile::python {

/// DLTensor; elsewhere the first member of DLManagedTensor.
struct DLTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;

  static constexpr int32_t Cpu = 1, Cuda = 2, CudaHost = 3, CudaManaged = 13;
  uint64_t address() const { return reinterpret_cast<uint64_t>(data) + byteOffset; }
};

/// DLPackExchangeAPI of version 1. Functions return 0, or another number with a Python error.
struct DLExchange {
  uint32_t major, minor;
  const void *previous;
  const void *allocate, *toManaged, *fromManaged;
  /// The tensor that `object` is, owned by it; null if the library cannot describe it without a
  /// copy.
  int (*describe)(void *object, DLTensor *out);
  int (*currentStream)(int32_t deviceType, int32_t device, void **stream);
};

/// The functions for objects of exactly this type; null if they might bypass what a derived class
/// overrides.
const DLExchange *exchangeOf(PyTypeObject *type);

/// The short name ("fp16") of an element type; null if kernels do not support it.
const char *nameOfDLType(const DLTensor &tensor);

} // namespace pantile::python
