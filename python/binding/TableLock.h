//===- TableLock.h - a lock for data that the GIL guards, on builds without a GIL --------===//
// Needs: code under the lock runs no Python code.
// Gives: nothing on a build of Python with the GIL; a mutex on one without.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <mutex>

namespace pantile::python {

struct TableLock {
#ifdef Py_GIL_DISABLED
  using Mutex = std::mutex;
  explicit TableLock(Mutex &mutex) : held(mutex) {}
  std::lock_guard<std::mutex> held;
#else
  struct Mutex {};
  explicit TableLock(Mutex &) {}
  ~TableLock() {} // not trivial, so that a lock never counts as an unused variable
#endif
};

} // namespace pantile::python
