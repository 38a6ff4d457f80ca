//===- PythonNumbers.h - the value of a Python integer -----------------------------------===//
// Needs: the GIL, or on a build without it nothing.
// Gives: readInteger.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <cstdint>

namespace pantile::python {

/// The value of an exact int; false for one that fits no 64 bits, and for anything else.
inline bool readInteger(PyObject *object, int64_t &value) {
  if (!PyLong_CheckExact(object))
    return false;
#if PY_VERSION_HEX >= 0x030C0000
  const auto *number = reinterpret_cast<PyLongObject *>(object);
  if (PyUnstable_Long_IsCompact(number)) [[likely]] {
    value = PyUnstable_Long_CompactValue(number);
    return true;
  }
#endif
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return !overflow;
}

} // namespace pantile::python
