//===- CpuPool.cpp - worker threads for CPU launches --------------------------------------===//
// Needs: see CpuPool.h.
// Gives: CpuPool.
// How:   one generation counter and one condition variable. A worker wakes when the generation
//        changes, runs its body if its number is below the wanted count, and reports back.
//===------------------------------------------------------------------------------------===//
#include "support/CpuPool.h"
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>

namespace pantile {
namespace {

thread_local bool insideBody = false;

struct InsideBody {
  InsideBody() { insideBody = true; }
  ~InsideBody() { insideBody = false; }
};

constexpr int maxWorkers = 1024;

} // namespace

struct CpuPool::State {
  std::mutex caller; ///< held by the caller whose bodies are running
  std::mutex mutex;
  std::condition_variable wake, done;
  uint64_t generation = 0;
  int threads = 0; ///< started; worker numbers 1 to `threads`
  int wanted = 0;  ///< bodies of this generation
  int running = 0; ///< bodies not yet finished, the caller's not counted
  const llvm::function_ref<void(int)> *body = nullptr;

  void work(int worker, uint64_t seen) {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return generation != seen; });
      seen = generation;
      if (worker >= wanted)
        continue;
      lock.unlock();
      {
        InsideBody inside;
        (*body)(worker);
      }
      lock.lock();
      if (--running == 0)
        done.notify_all();
    }
  }

  /// Starts workers up to number `last`; fewer if the system refuses. Called with `mutex` held.
  void grow(int last) {
    try {
      while (threads < last) {
        std::thread([this, worker = threads + 1, seen = generation] {
          work(worker, seen);
        }).detach();
        ++threads;
      }
    } catch (const std::system_error &) {
    }
  }
};

CpuPool::CpuPool() : state(new State) {
  // Only the forking thread exists in a child, so the child's copy of the state is useless.
  pthread_atfork(nullptr, nullptr, [] { shared().state = new State; });
}

CpuPool &CpuPool::shared() {
  static CpuPool *pool = new CpuPool;
  return *pool;
}

int CpuPool::defaultWorkers() {
  if (const char *text = std::getenv("PANTILE_NUM_THREADS")) {
    int wanted = std::atoi(text);
    if (wanted > 0)
      return std::min(wanted, maxWorkers);
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return CPU_COUNT(&allowed);
  return std::max(1u, std::thread::hardware_concurrency());
}

void CpuPool::run(int workers, llvm::function_ref<void(int)> body) {
  workers = std::min(workers, maxWorkers);
  if (workers <= 1 || insideBody) {
    for (int worker = 0; worker < workers; ++worker)
      body(worker);
    return;
  }
  State &pool = *state;
  std::lock_guard callerLock(pool.caller);
  int parallel;
  {
    std::lock_guard lock(pool.mutex);
    pool.grow(workers - 1);
    parallel = std::min(workers, pool.threads + 1);
    pool.body = &body;
    pool.wanted = parallel;
    pool.running = parallel - 1;
    ++pool.generation;
  }
  pool.wake.notify_all();
  {
    InsideBody inside;
    body(0);
    for (int worker = parallel; worker < workers; ++worker)
      body(worker);
  }
  std::unique_lock lock(pool.mutex);
  pool.done.wait(lock, [&] { return pool.running == 0; });
}

} // namespace pantile
