//===- CpuPool.h - worker threads for CPU launches ---------------------------------------===//
// Needs: nothing.
// Gives: `run(n, body)` calls body(0) .. body(n-1), each on its own thread as far as threads are
//        available, and returns when all are done. body(0) runs on the caller.
// How:   Threads start when first needed and sleep between calls. Calls from several threads are
//        serialised; a call from inside a body runs its bodies one after another. A child process
//        after fork() starts with no workers and makes its own. `body` must not throw.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace pantile {

class CpuPool {
public:
  /// The pool of the process.
  static CpuPool &shared();

  /// PANTILE_NUM_THREADS, else the processors that this process may run on; at least 1.
  static int defaultWorkers();

  void run(int workers, llvm::function_ref<void(int worker)> body);

  CpuPool(const CpuPool &) = delete;

private:
  CpuPool();
  struct State;
  /// Never freed: idle workers wait on it when the process ends, and a forked child abandons its
  /// copy.
  State *state;
};

} // namespace pantile
