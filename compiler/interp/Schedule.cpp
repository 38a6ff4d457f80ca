//===- Schedule.cpp - distributes the programs of a grid over workers ---------------------===//
// Needs: see Schedule.h.
// Gives: runGrid.
//===------------------------------------------------------------------------------------===//
#include "interp/Schedule.h"
#include "interp/Tensors.h"
#include "support/CpuPool.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

namespace pantile::interp {
namespace {

/// Passes over its waiting programs that a worker makes before it starts another program, while
/// other workers may still let them continue.
constexpr int patience = 64;
constexpr int64_t largestChunk = 64;

/// The state of a worker in `Shared::states`: the count of memory changes at which all its programs
/// waited, or one of these.
constexpr uint64_t busy = UINT64_MAX, idle = UINT64_MAX - 1;

struct Shared {
  Launch &launch;
  ArenaPool &arenas;
  const std::vector<uint64_t> &argumentBits;
  int64_t total, chunk;
  std::atomic<int64_t> next = 0;
  std::vector<std::atomic<uint64_t>> states;

  bool allStarted() const { return next.load() >= total; }
  /// Whether no worker can make progress. The count is read again at the end: a worker that was
  /// seen idle may have changed memory since the first look.
  bool allStuck() const {
    uint64_t changes = launch.changes.load();
    bool stuck = allStarted() && std::all_of(states.begin(), states.end(), [&](const auto &state) {
                   uint64_t seen = state.load();
                   return seen == idle || seen == changes;
                 });
    return stuck && launch.changes.load() == changes;
  }
};

struct Live {
  Frame frame;
  Arena arena;
  std::unique_ptr<Mailbox> mailbox;
};

class Worker {
public:
  Worker(Shared &shared, int number) : shared(shared), state(shared.states[number]) {}

  void run() {
    state.store(busy);
    while (!shared.launch.stopped.load()) {
      if (live.empty() && !start())
        break;
      uint64_t before = shared.launch.changes.load();
      if (resumeAll() || shared.launch.changes.load() != before) {
        state.store(busy);
        waited = 0;
      } else if (!live.empty()) {
        wait(before);
      }
    }
    for (Live &program : live)
      shared.arenas.give(std::move(program.arena));
    if (spare)
      shared.arenas.give(std::move(spare));
    state.store(idle);
  }

private:
  /// Runs each program until it is done or waits. Returns true if one of them made progress.
  bool resumeAll() {
    bool progressed = false;
    for (Live &program : live) {
      resume(program.frame);
      if (shared.launch.stopped.load())
        return true;
      progressed |= program.frame.done || program.frame.progressed;
    }
    std::erase_if(live, [&](Live &program) {
      if (program.frame.done)
        recycle(std::move(program.arena));
      return program.frame.done;
    });
    return progressed;
  }

  /// All programs of this worker wait, and memory has not changed since count `changes`.
  void wait(uint64_t changes) {
    bool alone = shared.states.size() == 1;
    // A worker that may still start programs counts as busy: they may change memory.
    if (first != last || !shared.allStarted()) {
      state.store(busy);
      if (alone || ++waited > patience) {
        waited = 0;
        start();
      } else {
        std::this_thread::yield();
      }
      return;
    }
    state.store(changes);
    if (shared.allStuck())
      return report(
          live.front().frame, *live.front().frame.lastShared, ErrorKind::Launch,
          "every program that is left waits here for a change of memory that none will make");
    if (!alone)
      std::this_thread::yield();
  }

  /// Starts the next program of the grid, if there is one.
  bool start() {
    if (first == last) {
      first = std::min(shared.next.fetch_add(shared.chunk), shared.total);
      last = std::min(first + shared.chunk, shared.total);
      if (first == last)
        return false;
    }
    Arena arena = spare ? std::move(spare) : shared.arenas.take();
    if (!arena) {
      shared.launch.setError(
          makeError(ErrorKind::Resources, "no memory for the registers of another program"));
      return false;
    }
    Live program;
    place(program.frame, arena.get(), first++);
    if (shared.launch.code.hasBarriers) {
      program.mailbox = std::make_unique<Mailbox>();
      program.frame.mailbox = program.mailbox.get();
    }
    program.arena = std::move(arena);
    live.push_back(std::move(program));
    return true;
  }

  void place(Frame &frame, std::byte *base, int64_t index) {
    const Code &code = shared.launch.code;
    const Grid &grid = shared.launch.grid;
    frame.base = base;
    frame.launch = &shared.launch;
    frame.code = &code;
    frame.cta = static_cast<int32_t>(index);
    frame.pid[0] = static_cast<int32_t>(index % grid[0]);
    frame.pid[1] = static_cast<int32_t>(index / grid[0] % grid[1]);
    frame.pid[2] = static_cast<int32_t>(index / grid[0] / grid[1]);
    for (size_t i = 0; i < code.arguments.size(); ++i)
      std::memcpy(base + code.arguments[i].reg, &shared.argumentBits[i],
                  sizeOf(code.arguments[i].elem));
  }

  void recycle(Arena arena) {
    if (spare)
      shared.arenas.give(std::move(arena));
    else
      spare = std::move(arena);
  }

  Shared &shared;
  std::atomic<uint64_t> &state;
  std::vector<Live> live;
  Arena spare;
  int64_t first = 0, last = 0; ///< claimed and not started
  int waited = 0;
};

} // namespace

void runGrid(Launch &launch, ArenaPool &arenas, const std::vector<uint64_t> &argumentBits,
             int workers) {
  // Two CTAs of several programs each, and numbers of programs that CTAs do not divide.
  constexpr int64_t fewCtas = 2;
  int64_t total = launch.grid[0] * launch.grid[1] * launch.grid[2];
  if (launch.code.isPersistent)
    total = std::min(total, fewCtas);
  launch.ctas = total;
  workers = static_cast<int>(std::min<int64_t>(workers, total));
  int64_t chunk =
      launch.code.spins ? 1 : std::clamp<int64_t>(total / (int64_t(workers) * 8), 1, largestChunk);
  Shared shared{
      launch, arenas, argumentBits, total, chunk, 0, std::vector<std::atomic<uint64_t>>(workers)};
  for (auto &state : shared.states)
    state.store(idle);
  CpuPool::shared().run(workers, [&](int number) { Worker(shared, number).run(); });
}

} // namespace pantile::interp
