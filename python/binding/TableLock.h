//===- TableLock.h - a lock for what the GIL guards, where there is none ----------------===//
// Needs: that what is done under it runs no Python code.
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
