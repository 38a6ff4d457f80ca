//===- DictWatch.h - change counts of dicts that other code writes to --------------------===//
// Needs: the GIL.
// Gives: a count that grows whenever a watched dict changes: what was looked up is valid as long as
//        the count stays. Python 3.12 and later report changes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <cstdint>

namespace pantile::python {

struct DictWatch {
  /// False if Python does not report changes of `dict`. It reports them just before a change; only
  /// the GIL keeps other threads from reading in between.
  static bool watch(PyObject *dict);
  /// The count for all watched dicts together; never 0.
  static uint64_t changes() { return count; }

private:
  inline static uint64_t count = 1;
};

} // namespace pantile::python
