//===- LaunchStats.h - counters of launches and compilations ------------------------------===//
// Gives: counters of this process; an unexpected slow path shows in `misses`.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <Python.h>
#include <atomic>
#include <cstdint>

namespace pantile::python {

struct LaunchStats {
  std::atomic<uint64_t> hits = 0;      ///< launches that ran no Python except a callable grid
  std::atomic<uint64_t> shortcuts = 0; ///< those of them that took the shortcut of the call before
  std::atomic<uint64_t> misses = 0;   ///< launches that Python bound: the first of a kind, or hooks
  std::atomic<uint64_t> compiles = 0; ///< kernels that were compiled
  std::atomic<uint64_t> loads = 0;    ///< kernels that were read from the cache on disk

  static LaunchStats &ofProcess() {
    static LaunchStats stats;
    return stats;
  }
  static void count(std::atomic<uint64_t> &counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  /// The same for counters that are only incremented with the GIL held, if there is one: without an
  /// atomic instruction.
  static void countHeld(std::atomic<uint64_t> &counter) {
#ifdef Py_GIL_DISABLED
    count(counter);
#else
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
  }
};

} // namespace pantile::python
