//===- Queues.cpp - run the launches of several GPUs concurrently --------------------===//
// Needs: see Queues.h.
// Gives: Queues.
// How:   Launches that have run but were not waited for stay in the shadow of memory. When the host
//        has waited for all of them, nothing can race with them, and the shadow is cleared.
//===------------------------------------------------------------------------------------------===//
#include "Queues.h"
#include <algorithm>
#include <cstdlib>
#include <thread>

namespace pantile::ptx {
namespace {
constexpr int longestBurst = 9;             // the logarithm of a GPU's time slices in a row
constexpr uint64_t mostIdleTurns = 100'000; // in which no kernel changed device memory

uint64_t givenSeed() {
  const char *seed = std::getenv("PANTILE_EMULATION_SEED");
  return seed ? std::strtoull(seed, nullptr, 0) : 0;
}
} // namespace

Queues &queues() {
  static auto *all = new Queues();
  return *all;
}

void Queues::add(Device &device, Item item) {
  ++arriving;
  std::lock_guard lock(mutex);
  --arriving;
  item.host = host;
  queues[device.number].isAwaited = false;
  queues[device.number].waiting.push_back(std::move(item));
}

void Queues::launch(Device &device, Launch launch) {
  add(device, {std::make_unique<Launch>(std::move(launch)), {}, {}});
}

void Queues::add(Device &device, std::function<void()> work) {
  add(device, {nullptr, std::move(work), {}});
}

void Queues::restart() {
  std::lock_guard lock(mutex);
  sessions = 0;
}

void Queues::whenOver(std::function<void()> release) {
  {
    std::lock_guard lock(mutex);
    releases.push_back(std::move(release));
    endIfOver();
  }
}

//===- waiting ------------------------------------------------------------------------------===//

template <class IsOver> void Queues::runUntil(IsOver isOver) {
  for (;;) {
    {
      std::lock_guard lock(mutex);
      if (isOver())
        return;
      runSome();
    }
    do
      std::this_thread::yield();
    while (arriving);
  }
}

int Queues::wait(Device &device) {
  Queue &queue = queues[device.number];
  std::string failure;
  runUntil([&] {
    if (!queue.isIdle())
      return false;
    host = joined(host, queue.done);
    queue.isAwaited = true;
    failure = std::exchange(queue.failure, {});
    endIfOver();
    return true;
  });
  return failure.empty() ? int(Success) : ptx::fail(Failed, failure);
}

void Queues::waitForAll() {
  runUntil([&] {
    if (!std::all_of(queues.begin(), queues.end(), [](Queue &queue) { return queue.isIdle(); }))
      return false;
    for (Queue &queue : queues)
      queue.isAwaited = true, queue.failure.clear();
    endIfOver();
    return true;
  });
}

/// Begins again where the host has waited for everything.
void Queues::endIfOver() {
  const bool isOver = std::all_of(queues.begin(), queues.end(), [](const Queue &queue) {
    return queue.isIdle() && queue.isAwaited;
  });
  if (!isOver)
    return;
  finished.clear();
  races.reset();
  host = nullptr;
  for (Queue &queue : queues)
    queue.done = nullptr;
  for (const auto &release : std::exchange(releases, {}))
    release();
}

//===- running ------------------------------------------------------------------------------===//

/// The first GPU from `from` on that has something to do, around the circle; -1: none.
int Queues::firstBusy(int from) const {
  for (int i = 0; i < mostDevices; ++i)
    if (!queues[(from + i) % mostDevices].isIdle())
      return (from + i) % mostDevices;
  return -1;
}

void Queues::runSome() {
  std::vector<std::unique_lock<std::mutex>> locks; // no memory comes or goes meanwhile
  for (int i = 0; i < deviceCount(); ++i)
    locks.emplace_back(device(i).mutex);
  if (!races) {
    races = std::make_unique<Races>();
    races->share();
    random.seed(givenSeed() * 1'000'003 + sessions++);
    changes = idleTurns = 0;
  }
  const int busy = firstBusy(int(random() % deviceCount()));
  if (busy < 0)
    return;
  try {
    advance(busy, 1 << random() % longestBurst);
    requireProgress();
  } catch (const Fault &fault) {
    const auto &running = queues[busy].running;
    fail((running ? "kernel `" + running->launched().kernel->name + "` on GPU " +
                        std::to_string(busy) + ": "
                  : "") +
         fault.what());
  }
}

void Queues::start(Queue &queue, int device) {
  Item item = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (!item.launch)
    return item.work();
  item.launch->before = joined(item.host, queue.done);
  item.launch->device = device;
  queue.running = std::make_unique<Grid>(*item.launch, *races);
}

void Queues::finish(Queue &queue) {
  queue.done = queue.running->after();
  finished.push_back(std::move(queue.running));
  idleTurns = 0;
}

void Queues::advance(int device, int turns) {
  Queue &queue = queues[device];
  for (; turns > 0 && !queue.isIdle(); --turns) {
    if (!queue.running)
      start(queue, device);
    else if (queue.running->isDone())
      finish(queue);
    else
      queue.running->runSome(), ++idleTurns;
  }
}

/// Kernels that wait for one another for ever get time slices, but change nothing.
void Queues::requireProgress() {
  if (std::exchange(changes, races->changes) != races->changes)
    idleTurns = 0;
  if (idleTurns < mostIdleTurns)
    return;
  std::string text = "nothing changes in memory while it runs; it waits, or waits for another:";
  for (int i = 0; i < mostDevices; ++i)
    if (queues[i].running)
      text += " GPU " + std::to_string(i) + " (" + queues[i].running->whereItWaits() + ")";
  throw Fault(text);
}

/// As on hardware, no launch continues, on any of the GPUs.
void Queues::fail(const std::string &message) {
  for (Queue &queue : queues) {
    if (queue.isIdle())
      continue;
    queue.failure = message;
    if (queue.running)
      finished.push_back(std::move(queue.running));
    queue.waiting.clear();
  }
}

} // namespace pantile::ptx
