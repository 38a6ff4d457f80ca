//===- Queues.h - launches on GPUs that are peers ------------------------------------===//
// Needs: Devices.h, Grid.h.
// Gives: Queues: launches are queued until the host waits for them, and then run concurrently.
// How:   Kernels of two GPUs may wait for each other, so none may run to its end before the next is
//        launched. Each GPU runs its launches in order, whatever their streams; the GPUs are
//        interleaved at random, on the threads that wait. A launch comes after those before it on
//        its GPU, and after what the host had waited for: nothing else orders launches.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Devices.h"
#include "Grid.h"
#include <atomic>
#include <functional>

namespace pantile::ptx {

class Queues {
public:
  /// Adds to what `device` does; `work` is done between launches.
  void launch(Device &device, Launch launch);
  void add(Device &device, std::function<void()> work);
  /// Runs all GPUs until `device` has nothing to do. Fails if a kernel did.
  int wait(Device &device);
  void waitForAll();
  /// Calls `release` when no launch is left whose accesses are compared with later ones.
  void whenOver(std::function<void()> release);
  /// The next launches draw the same order as the first ones did.
  void restart();

private:
  struct Item {
    std::unique_ptr<Launch> launch; ///< null: `work`
    std::function<void()> work;
    Clock host; ///< what the host had waited for
  };
  struct Queue {
    std::deque<Item> waiting;
    std::unique_ptr<Grid> running;
    Clock done;            ///< what happened before the end of the last launch
    bool isAwaited = true; ///< the host waited since the last launch
    std::string failure;   ///< of a kernel; not reported by a wait yet
    bool isIdle() const { return waiting.empty() && !running; }
  };

  void add(Device &device, Item item);
  /// Runs all GPUs until `isOver` holds.
  template <class IsOver> void runUntil(IsOver isOver);
  void runSome();
  void advance(int device, int turns);
  void start(Queue &queue, int device);
  void finish(Queue &queue);
  void fail(const std::string &message);
  void requireProgress();
  void endIfOver();
  int firstBusy(int from) const;

  std::mutex mutex;
  std::atomic<int> arriving = 0; ///< threads that want to add something
  std::array<Queue, mostDevices> queues;
  std::unique_ptr<Races> races;
  std::vector<std::unique_ptr<Grid>> finished; ///< whose accesses may still be named
  std::vector<std::function<void()>> releases;
  Clock host;
  std::mt19937_64 random;
  uint64_t changes = 0, idleTurns = 0, sessions = 0;
};

Queues &queues();

} // namespace pantile::ptx
