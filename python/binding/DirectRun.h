//===- DirectRun.h - direct launches of one compiled kernel ------------------------------===//
// Needs: the GIL, or on a build without it nothing.
// Gives: DirectRun, by which `CompiledKernel.run` repeats launches that an earlier launch prepared.
// How:   Arguments are read by the types that the kernel was compiled for: no binding, no key, no
//        look-up. Everything unusual is refused and takes the general path, which explains errors.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "TableLock.h"
#include "pantile/ReadyLaunch.h"
#include <pybind11/pybind11.h>
#include <span>
#include <vector>

namespace pantile::python {

class DirectRun {
public:
  /// `isConstexpr`: one flag per parameter; a call may leave those out.
  DirectRun(Kernel kernel, std::vector<bool> isConstexpr);

  /// Queues a launch of `args` on `stream`. False: nothing was queued.
  bool operator()(const Grid &grid, uint64_t stream, std::span<PyObject *const> args);

private:
  /// How the value of a parameter is read.
  struct Reading {
    enum class Kind : uint8_t { Nothing, Address, Bool, Integer, Fp32, Fp64, Unknown };
    Kind kind = Kind::Unknown;
    bool mayBeAbsent = false;
    uint8_t mask = 0;            ///< bits that must be zero, as the kernel assumes
    int64_t least = 0, most = 0; ///< of an Integer
  };
  static Reading readingOf(const ArgSpec &spec);
  bool read(std::span<PyObject *const> args, uint64_t *slots, int &device) const;
  static bool readValue(const Reading &reading, PyObject *object, uint64_t &slot, int &device);
  static bool readAddress(PyObject *object, uint64_t &address, int &device);
  const ReadyLaunch *readyOn(int device);

  const Kernel kernel;
  std::vector<Reading> readings;                         ///< one per parameter
  size_t present = 0;                                    ///< parameters that every call has to give
  TableLock::Mutex mutex;                                ///< of `ready`
  std::vector<std::unique_ptr<const ReadyLaunch>> ready; ///< by device
};

void bindDirectRun(pybind11::module_ &module);

} // namespace pantile::python
