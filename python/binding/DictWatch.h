//===- DictWatch.h - whether dicts that others write to have changed --------------------===//
// Needs: the GIL.
// Gives: a count that grows whenever a watched dict changes: what was looked up is known as long as
//        the count stays. Python 3.12 and later tell of changes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <cstdint>

namespace pantile::python {

struct DictWatch {
  /// False where Python does not tell of changes to `dict`. It tells just before a change, and only
  /// the GIL keeps others from reading between.
  static bool watch(PyObject *dict);
  /// Of all watched dicts together; never 0.
  static uint64_t changes() { return count; }

private:
  inline static uint64_t count = 1;
};

} // namespace pantile::python
