//===- Machine.h - warps, CTAs, clusters and their state -----------------------------===//
// Needs: LoadFlow.h, Memory.h, Program.h, WarpClock.h.
// Gives: Launch, Warp, Cta, Cluster; Grid.h runs them.
// How:   A warp is a list of fragments, each with lanes at the same instruction; the fragment with
//        the lowest program counter runs, and fragments at the same instruction are merged. Warps
//        run for random numbers of steps. Asynchronous operations are queued and executed at a
//        random time, at the latest when they are waited for: a missing wait shows as wrong
//        numbers.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "LoadFlow.h"
#include "Memory.h"
#include "Program.h"
#include "WarpClock.h"
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>

namespace pantile::ptx {

constexpr Lanes allLanes = ~Lanes(0);

/// Calls `body(lane)` for each lane of `lanes`.
template <class Body> void forLanes(Lanes lanes, Body &&body) {
  if (lanes == allLanes) {
    for (int lane = 0; lane < warpSize; ++lane)
      body(lane);
    return;
  }
  for (; lanes; lanes &= lanes - 1)
    body(std::countr_zero(lanes));
}

class Warp;
class Races;
struct Cta;
struct Cluster;

/// Whether a check is made: PANTILE_EMULATION_UNCHECKED names those that are not, with commas.
bool isChecked(std::string_view check);

/// cp.async of one warp: `bytes` to shared memory, zeros after `given`. With 0 `bytes` lanes arrive at
/// the mbarriers `to`: the copies before are complete then, up to group `group`.
struct AsyncCopy {
  Lanes lanes;
  int bytes;
  std::array<uint32_t, warpSize> to;
  std::array<Word, warpSize> from;
  std::array<int, warpSize> given;
  const Instruction *instruction;
  Tick group = 0;
};

/// Something that takes effect later, in order, in groups that can be waited for.
template <class Item> struct AsyncQueue {
  std::deque<Item> open;
  std::deque<std::deque<Item>> groups;

  Tick committed = 0; // groups, also those that are complete

  void commit() {
    groups.push_back(std::exchange(open, {}));
    ++committed;
  }
  /// The last group that is complete when all but `pending` are.
  Tick done(size_t pending) const { return committed > pending ? committed - pending : 0; }
  void clear() {
    open.clear();
    groups.clear();
    committed = 0;
  }
  bool empty() const { return open.empty() && groups.empty(); }
};

/// An MMA of one warp's rows. Its accumulators are cells until it is waited for.
struct Wgmma {
  const Instruction *instruction;
  Word left, right; // descriptors
  bool keepsSum;
  std::vector<uint32_t> cells;
};

using Cell = std::array<uint32_t, warpSize>;

/// A tile between device memory and shared memory.
struct TensorCopy {
  const Instruction *instruction;
  Warp *by; // of a load also into other CTAs of the cluster
  Word map;
  uint32_t shared, barrier;
  int rank;
  std::array<int32_t, 5> at;
};

/// The registers that MMAs in flight have, and the accesses before.
struct LentRegisters {
  std::vector<uint64_t> touched; // by register: the step of the last access
  std::vector<uint32_t> by, to;  // instructions: of that access, and the MMA
  std::vector<Tick> until;       // the MMA's group
  uint64_t fence = 0;            // the step of the last one; 0: none
  Tick done = 0;                 // the last group that was waited for

  void start(size_t registers);
};

class Warp {
public:
  Warp(Cta &cta, const Kernel &kernel, int index);
  Warp(const Warp &) = delete;

  /// Starts again at the start of the kernel, for another CTA.
  void start();
  /// Runs until `steps` are over, all lanes have left, or the warp has to wait.
  void run(int steps);

  Word *reg(int index) { return &registers[size_t(index) * warpSize]; }
  Word *reg(const Operand &operand) { return reg(operand.reg); }
  const Word *reg(const Operand &operand) const {
    return &registers[size_t(operand.reg) * warpSize];
  }
  /// The address of lane `lane` in its space, with the operand's offset.
  Word address(const Operand &operand, int lane) const {
    return reg(operand)[lane] + operand.offset;
  }
  [[noreturn]] void fault(const Instruction &instruction, const std::string &message) const;

  Cta &cta;
  const Kernel &kernel;
  const int index;
  Lanes active = 0;  // what the present instruction applies to
  Lanes live = 0;    // have not left the kernel
  Lanes present = 0; // of the fragment that runs
  int pc = 0;
  bool stops = false;         // the warp is suspended
  bool repeats = false;       // the present instruction is to be run again
  int barrier = -1;           // that it waits at
  int clusterPhase = -1;      // of the cluster's barrier that it arrived in and has not waited for
  uint64_t waitsForEvent = 0; // of the CTA; 0: does not
  uint64_t steps = 0;
  std::vector<uint8_t> local; // lane by lane
  AsyncQueue<AsyncCopy> copies;
  AsyncQueue<Wgmma> mmas;
  AsyncQueue<TensorCopy> stores;

  /// The cell to which a register refers while an MMA may still write it; 0: none.
  std::vector<uint32_t> tags;
  std::map<uint32_t, Cell> cells;
  uint32_t lastCell = 0;
  static constexpr uint32_t overwritten = ~0u; ///< a tag that is no cell: the sum went on elsewhere
  LentRegisters lent;
  const bool watches; ///< the kernel has MMAs whose registers are checked
  Lanes carry = 0;
  WarpClock clock;
  const LoadFlow *flow = nullptr; ///< null: no value goes from a load through a lane to a store
  LoadedBy loadedBy;
  int registersPerThread = 0; // that it may use; see RegisterPool.cpp
  Lanes storing = 0;          // lanes that have started bulk stores

  void leave(Lanes lanes) {
    live &= ~lanes;
    clock.leave(lanes);
  }
  void branch(const Instruction &instruction);
  bool isDone() const { return live == 0; }
  uint8_t *localMemory(int lane) { return &local[size_t(lane) * kernel.localBytes]; }

private:
  /// What a special register holds for one lane, and for all lanes where they agree.
  Word valueOf(Special special, int lane) const;
  Word valueOf(Special special) const;
  struct Fragment {
    int pc;
    Lanes lanes;
    bool parked;
  };
  bool choose();
  void keep(bool parked);
  Lanes guarded(const Instruction &instruction) const;

  std::vector<Word> registers;
  std::vector<Fragment> others;
};

struct Barrier {
  int arrived = 0, expected = 0;
  std::vector<Warp *> waiting;
  Knowledge knowledge; // of those that have arrived
};

/// What is known of an mbarrier besides its word.
struct MBarrier {
  Agent agent;                       // copies that complete on it; their tick is the phase
  Tick phase = 1;                    // that is not complete
  Knowledge arriving, arrived;       // from the CTA's own threads; arrived: before the phase
  Knowledge arrivingFar, arrivedFar; // from other CTAs of the cluster
  const Instruction *init;
  const Warp *by;
  Lanes lanes;
  bool isFenced = false; // others may use it
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
  uint64_t size() const { return uint64_t(x) * y * z; }
};

struct Launch {
  const Kernel *kernel;
  Dim3 grid, threads;
  int dynamicSharedBytes = 0;
  std::vector<uint8_t> params;
  Reach reach;
  int device = 0;
  int resident = 3; // CTAs, or clusters, that run at once
  int cluster = 1;  // CTAs of one
  uint64_t seed = 0;
  Races *races = nullptr;
  std::shared_ptr<const LoadFlow> flow; ///< of the kernel
  Agent whole = 0;                      ///< stands for all of its accesses, when it has ended
  Clock before;                         ///< what happened before it started
};

struct Cta {
  Cta(const Launch &launch, std::mt19937_64 &random, Cluster &cluster, int rank);

  void start(uint64_t number);
  /// Runs one warp for some steps. False: no warp of the CTA can continue.
  bool runSome();
  bool isDone() const;
  std::string whereItWaits() const;

  /// Shared memory, checked. `what` for the message.
  uint8_t *shared(Warp &warp, const Instruction &instruction, Word address, int bytes);
  /// The same where the address may be another CTA's, as `mapa` gives it. Sets `owner`.
  uint8_t *sharedOfCluster(Warp &warp, const Instruction &instruction, Word address, int bytes,
                           Cta *&owner);
  /// Any memory by its generic address.
  uint8_t *generic(Warp &warp, const Instruction &instruction, Word address, int bytes, int lane);

  Races &races() const { return *launch.races; }
  bool chance(unsigned outOf) { return random() % outOf == 0; }
  /// Somebody may find its condition fulfilled now.
  void signal() { ++events; }
  void arriveAtBarrier(Warp &warp, const Instruction &instruction, int id, int count, bool waits);
  /// Writes through the ordinary path that asynchronous units do not see yet.
  void noteWrite(int warp, Word address, int bytes);
  void fenceProxy(int warp);
  void requireFenced(Warp &warp, const Instruction &instruction, Word address, int bytes);

  const Launch &launch;
  std::mt19937_64 &random;
  Cluster &cluster;
  const int rank; ///< in the cluster
  Dim3 at;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> sharedMemory;
  std::vector<uint8_t> unfenced; // a byte for 16: the warp that wrote it last, plus one
  std::array<Barrier, 16> barriers;
  std::deque<TensorCopy> loads; // in flight, in any order
  Shadow shadow;
  std::map<uint32_t, MBarrier> mbarriers; // by address
  uint64_t events = 1, steps = 0;
  int freeRegisters = 0; // that warps have given up

  /// A barrier of all that live may be complete when one leaves.
  void warpLeft();

private:
  void completeLoad(size_t which);
  bool advanceCopiesOfWarps();
  void releaseIfComplete(Barrier &barrier);
};

/// CTAs that start together and reach each other's shared memory; mostly one.
struct Cluster {
  Cluster(const Launch &launch, std::mt19937_64 &random);

  void start(uint64_t number);
  /// All have left, and nothing is on its way to them.
  void end() const;
  /// Runs a warp of some CTA for some steps. False: no warp of the cluster can continue.
  bool runSome();
  bool isDone() const;
  std::string whereItWaits() const;
  uint64_t steps() const;
  void forgetSteps();

  /// The address of `address`, which lies in shared memory, in CTA `rank`.
  Word mapped(Warp &warp, const Instruction &instruction, Word address, Word rank) const;
  /// A CTA that has not left.
  Cta &ctaOf(const Warp &warp, const Instruction &instruction, Word rank) const;
  void arrive(Warp &warp, const Instruction &instruction);
  void wait(Warp &warp, const Instruction &instruction);
  /// The barrier may be complete when a warp leaves.
  void warpLeft() { flipPhase(); }

  std::vector<std::unique_ptr<Cta>> ctas;

private:
  void flipPhase();
  void requireNoLoads(const Cta &cta) const;
  std::mt19937_64 &random;
  int phase = 0;
  Knowledge arriving, arrived; // in this phase, and before it
};

/// Where a warp waits that waits for the cluster.
constexpr int clusterBarrier = 16;
/// The bits of an address in shared memory; above them is the rank plus one, or 0 for the CTA
/// itself.
constexpr int sharedAddressBits = 24;

//===- what the files with handlers give to each other ------------------------------------===//

/// Null if the family does not have the instruction.
Handler decodeInteger(Instruction &instruction);
Handler decodeFloat(Instruction &instruction);
Handler decodeCompare(Instruction &instruction);
Handler decodeConvert(Instruction &instruction);
Handler decodeMemory(Instruction &instruction);
Handler decodeAtomic(Instruction &instruction);
Handler decodeControl(Instruction &instruction);
Handler decodeWarp(Instruction &instruction);
Handler decodeCluster(Instruction &instruction);
Handler decodeMatrix(Instruction &instruction);
Handler decodeAsync(Instruction &instruction);
Handler decodeMbarrier(Instruction &instruction);
Handler decodeWgmma(Instruction &instruction);
Handler decodeRegisterPool(Instruction &instruction);

/// Where `lane` takes its value in a shuffle; its own if the other is outside of the segment.
struct ShuffleSource {
  int lane = 0;
  bool isInside = false;
};
ShuffleSource shuffleSource(const Warp &warp, const Instruction &instruction, int lane);

/// Finishes all but the newest `pending` groups.
void finishCopies(Warp &warp, size_t pending);
void finishMmas(Warp &warp, size_t pending);
/// Executes the oldest MMA in flight.
void advanceMmas(Warp &warp);
void finishStores(Warp &warp, size_t pending);
/// What another instruction does to registers of MMAs; copies of accumulators follow.
void watchRegisters(Warp &warp, const Instruction &instruction);
/// An MMA takes its registers.
void lendRegisters(Warp &warp, const Instruction &instruction);
/// Does what is due but not waited for yet, now and then.
void advanceAtRandom(Warp &warp);
/// The oldest cp.async in flight takes effect; false if there is none.
bool advanceCopies(Warp &warp);
void loadTensor(Cta &cta, const TensorCopy &copy);

} // namespace pantile::ptx
