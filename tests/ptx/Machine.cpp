//===- Machine.cpp - execution of warps and CTAs -------------------------------------===//
// Needs: see Machine.h.
// Gives: Warp, Cta, isChecked.
// How:   Registers and shared memory start as patterns that are NaN in every float type.
//===------------------------------------------------------------------------------------------===//
#include "Races.h"
#include <algorithm>
#include <cstdlib>

namespace pantile::ptx {
namespace {
constexpr uint8_t garbage = 0xff;
constexpr int longestTurn = 300;
} // namespace

bool isChecked(std::string_view check) {
  const char *variable = std::getenv("PANTILE_EMULATION_UNCHECKED");
  for (std::string_view left = variable ? variable : ""; !left.empty();) {
    const size_t end = std::min(left.find(','), left.size());
    if (left.substr(0, end) == check)
      return false;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return true;
}

//===- a warp -------------------------------------------------------------------------------===//

Warp::Warp(Cta &cta, const Kernel &kernel, int index)
    : cta(cta), kernel(kernel), index(index),
      watches(isChecked("registers") &&
              std::any_of(kernel.code.begin(), kernel.code.end(),
                          [](const Instruction &i) { return i.kind == Kind::WarpGroupMma; })) {
  registers.assign(size_t(kernel.registers) * warpSize, ~Word(0));
  tags.assign(kernel.registers, 0);
  local.assign(size_t(kernel.localBytes) * warpSize, garbage);
}

void Warp::start() {
  const Dim3 threads = cta.launch.threads;
  const int first = index * warpSize, left = int(threads.size()) - first;
  live = left >= warpSize ? allLanes : (Lanes(1) << left) - 1;
  present = live;
  others.clear();
  pc = 0, barrier = -1, clusterPhase = -1, waitsForEvent = 0, storing = 0;
  registersPerThread = kernel.mostRegisters;
  clock.start(cta.races().addAgents(cta, index, unitCount), live,
              {cta.launch.before, cta.launch.before});
  copies.clear(), mmas.clear(), stores.clear();
  cells.clear();
  std::fill(tags.begin(), tags.end(), 0);
  lent.start(kernel.registers);
  flow = cta.launch.flow->isEmpty() ? nullptr : cta.launch.flow.get();
  if (flow)
    loadedBy.start(cta.races().loadSets, kernel.registers);
  for (auto [number, value] : kernel.constants)
    std::fill_n(reg(number), warpSize, value);
  for (auto [number, special] : kernel.specials)
    for (int lane = 0; lane < warpSize; ++lane)
      reg(number)[lane] = valueOf(special, lane);
}

Word Warp::valueOf(Special special, int lane) const {
  const Dim3 threads = cta.launch.threads;
  const unsigned thread = index * warpSize + lane, bit = 1u << lane;
  switch (special) {
  case Special::TidX:
    return thread % threads.x;
  case Special::TidY:
    return thread / threads.x % threads.y;
  case Special::TidZ:
    return thread / threads.x / threads.y;
  case Special::Lane:
    return lane;
  case Special::LaneLt:
    return bit - 1;
  case Special::LaneLe:
    return bit | (bit - 1);
  case Special::LaneGt:
    return ~(bit | (bit - 1));
  case Special::LaneGe:
    return ~(bit - 1);
  case Special::LaneEq:
    return bit;
  default:
    return valueOf(special);
  }
}

Word Warp::valueOf(Special special) const {
  const Launch &launch = cta.launch;
  switch (special) {
  case Special::NtidX:
    return launch.threads.x;
  case Special::NtidY:
    return launch.threads.y;
  case Special::NtidZ:
    return launch.threads.z;
  case Special::CtaX:
    return cta.at.x;
  case Special::CtaY:
    return cta.at.y;
  case Special::CtaZ:
    return cta.at.z;
  case Special::NctaX:
    return launch.grid.x;
  case Special::NctaY:
    return launch.grid.y;
  case Special::NctaZ:
    return launch.grid.z;
  case Special::WarpId:
    return index;
  case Special::Smid:
    return cta.at.x % launch.resident;
  case Special::Nsmid:
    return launch.resident;
  case Special::DynamicSharedBytes:
    return launch.dynamicSharedBytes;
  case Special::TotalSharedBytes:
    return cta.sharedMemory.size();
  case Special::ClusterRank:
    return cta.rank;
  case Special::ClusterSize:
    return launch.cluster;
  case Special::ClusterId:
    return cta.at.x / launch.cluster;
  case Special::ClusterCount:
    return launch.grid.x / launch.cluster;
  case Special::IsCluster:
    return launch.cluster > 1;
  default: // clocks and environment registers start at 0
    return 0;
  }
}

void Warp::fault(const Instruction &instruction, const std::string &message) const {
  const Dim3 at = cta.at;
  throw Fault("`" + instruction.op.text + "` in line " + std::to_string(instruction.line) +
              " of the PTX, CTA (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
              std::to_string(at.z) + "), warp " + std::to_string(index) + ": " + message);
}

Lanes Warp::guarded(const Instruction &instruction) const {
  if (instruction.guard < 0)
    return present;
  const Word *guard = &registers[size_t(instruction.guard) * warpSize];
  Lanes holds = 0;
  for (int lane = 0; lane < warpSize; ++lane)
    holds |= Lanes(guard[lane] & 1) << lane;
  return present & (instruction.guardInverted ? ~holds : holds);
}

/// Puts the running fragment back, joined with those at the same place.
void Warp::keep(bool parked) {
  const Lanes lanes = present & live;
  present = 0;
  if (!lanes)
    return;
  for (Fragment &other : others)
    if (other.pc == pc && other.parked == parked) {
      other.lanes |= lanes;
      return;
    }
  others.push_back({pc, lanes, parked});
}

/// Selects the fragment with the lowest program counter. Fragments that wait for the whole warp
/// continue if no others are left.
bool Warp::choose() {
  std::erase_if(others, [&](Fragment &other) { return !(other.lanes &= live); });
  auto best = others.end();
  for (auto other = others.begin(); other != others.end(); ++other)
    if (!other->parked && (best == others.end() || other->pc < best->pc))
      best = other;
  if (best == others.end()) {
    if (others.empty())
      return false;
    if (others.size() > 1)
      fault(kernel.code[others[0].pc],
            "the lanes of a warp wait at different places; others at line " +
                std::to_string(kernel.code[others[1].pc].line));
    best = others.begin();
  }
  pc = best->pc;
  present = best->lanes;
  others.erase(best);
  // At the same instruction, and not waiting for the warp.
  for (auto other = others.begin(); other != others.end();)
    if (other->pc == pc && !other->parked) {
      present |= other->lanes;
      other = others.erase(other);
    } else
      ++other;
  return true;
}

void Warp::branch(const Instruction &instruction) {
  // `active` branches; the rest of the fragment continues after the branch.
  const Lanes taken = active, rest = present & ~active;
  if (!rest || !taken) {
    pc = taken ? instruction.target : pc + 1;
    if (!others.empty())
      keep(false), choose();
    return;
  }
  others.push_back({instruction.target, taken, false});
  present = rest;
  ++pc;
  keep(false);
  choose();
}

void Warp::run(int budget) {
  stops = false;
  while (!stops && budget-- > 0) {
    if (!(present & live) && !choose())
      return;
    // A fragment with a lower program counter runs before this one passes it.
    if (!others.empty()) {
      auto meets = [&](const Fragment &other) { return !other.parked && other.pc <= pc; };
      if (std::any_of(others.begin(), others.end(), meets)) {
        keep(false);
        choose();
      }
    }
    const Instruction &now = kernel.code[pc];
    ++steps, ++cta.steps;
    if (now.wholeWarp && present != live) {
      keep(true);
      choose();
      continue;
    }
    active = guarded(now);
    if (watches && active)
      watchRegisters(*this, now);
    if (flow && active && flow->follows(pc))
      loadedBy.follow(*this, now, active);
    if (now.kind == Kind::Branch) {
      branch(now);
      continue;
    }
    repeats = false;
    if (active || now.wholeWarp)
      now.run(*this, now);
    present &= live;
    if (!repeats)
      ++pc;
  }
}

//===- a CTA ------------------------------------------------------------------------------===//

Cta::Cta(const Launch &launch, std::mt19937_64 &random, Cluster &cluster, int rank)
    : launch(launch), random(random), cluster(cluster), rank(rank) {
  const int count = (launch.threads.size() + warpSize - 1) / warpSize;
  for (int i = 0; i < count; ++i)
    warps.push_back(std::make_unique<Warp>(*this, *launch.kernel, i));
  sharedMemory.resize(launch.kernel->staticSharedBytes + launch.dynamicSharedBytes);
  unfenced.resize(sharedMemory.size() / 16 + 1);
}

void Cta::start(uint64_t number) {
  at.x = number % launch.grid.x;
  at.y = number / launch.grid.x % launch.grid.y;
  at.z = number / launch.grid.x / launch.grid.y;
  std::fill(sharedMemory.begin(), sharedMemory.end(), garbage);
  std::fill(unfenced.begin(), unfenced.end(), 0);
  barriers = {};
  loads.clear();
  shadow.clear();
  mbarriers.clear();
  steps = 0, freeRegisters = 0;
  for (auto &warp : warps)
    warp->start();
}

bool Cta::isDone() const {
  return std::all_of(warps.begin(), warps.end(), [](const auto &warp) { return warp->isDone(); });
}

bool Cta::runSome() {
  if (!loads.empty() && chance(6))
    completeLoad(random() % loads.size());
  if (chance(6))
    advanceCopiesOfWarps();
  auto isReady = [&](Warp &warp) {
    return !warp.isDone() && warp.barrier < 0 && warp.waitsForEvent != events;
  };
  const size_t first = random() % warps.size();
  for (size_t i = 0; i < warps.size(); ++i) {
    Warp &warp = *warps[(first + i) % warps.size()];
    if (!isReady(warp))
      continue;
    advanceAtRandom(warp);
    warp.waitsForEvent = 0;
    warp.run(1 + int(random() % longestTurn));
    if (warp.isDone()) {
      finishStores(warp, 0);
      warpLeft();
      cluster.warpLeft();
    }
    return true;
  }
  if (loads.empty())
    return isDone() || advanceCopiesOfWarps();
  completeLoad(random() % loads.size());
  return true;
}

/// Copies of warps that wait, or have left: others may wait for the arrivals after these.
bool Cta::advanceCopiesOfWarps() {
  const size_t first = random() % warps.size();
  for (size_t i = 0; i < warps.size(); ++i)
    if (advanceCopies(*warps[(first + i) % warps.size()]))
      return true;
  return false;
}

void Cta::completeLoad(size_t which) {
  const TensorCopy copy = loads[which];
  loads.erase(loads.begin() + which);
  loadTensor(*this, copy);
}

std::string Cta::whereItWaits() const {
  std::string text;
  for (const auto &warp : warps)
    if (!warp->isDone())
      text += (text.empty() ? "warp " : ", warp ") + std::to_string(warp->index) + " at line " +
              std::to_string(launch.kernel->code[warp->pc].line);
  return text;
}

void Cta::arriveAtBarrier(Warp &warp, const Instruction &instruction, int id, int count,
                          bool waits) {
  if (id < 0 || id >= int(barriers.size()))
    warp.fault(instruction, "there is no barrier " + std::to_string(id));
  Barrier &barrier = barriers[id];
  if (count % warpSize)
    warp.fault(instruction, "a count that is no multiple of 32");
  if (barrier.arrived && barrier.expected != count)
    warp.fault(instruction, "other warps came to this barrier with another count");
  barrier.expected = count;
  barrier.arrived += warpSize;
  barrier.knowledge.join(warp.clock.release(warp.live));
  if (waits) {
    barrier.waiting.push_back(&warp);
    warp.barrier = id;
    warp.stops = true;
  }
  releaseIfComplete(barrier);
}

void Cta::releaseIfComplete(Barrier &barrier) {
  int expected = barrier.expected;
  if (!expected) // all threads, less those that have left
    for (const auto &other : warps)
      expected += other->isDone() ? 0 : warpSize;
  if (!barrier.arrived || barrier.arrived < expected)
    return;
  for (Warp *waiting : barrier.waiting) {
    waiting->barrier = -1;
    waiting->clock.acquire(allLanes, barrier.knowledge);
    waiting->clock.synchronize();
  }
  barrier = {};
}

void Cta::warpLeft() {
  for (Barrier &barrier : barriers)
    if (!barrier.expected)
      releaseIfComplete(barrier);
}

void Cta::noteWrite(int warp, Word address, int bytes) {
  for (Word chunk = address / 16; chunk <= (address + bytes - 1) / 16; ++chunk)
    unfenced[chunk] = warp + 1;
}

void Cta::fenceProxy(int warp) {
  std::replace(unfenced.begin(), unfenced.end(), uint8_t(warp + 1), uint8_t(0));
}

void Cta::requireFenced(Warp &warp, const Instruction &instruction, Word address, int bytes) {
  for (Word chunk = address / 16; chunk <= (address + bytes - 1) / 16; ++chunk)
    if (unfenced[chunk])
      warp.fault(instruction, "reads shared memory at " + std::to_string(chunk * 16) +
                                  ", which warp " + std::to_string(unfenced[chunk] - 1) +
                                  " wrote without `fence.proxy.async` after");
}

uint8_t *Cta::shared(Warp &warp, const Instruction &instruction, Word address, int bytes) {
  if (address < reservedSharedBytes || address + bytes > sharedMemory.size())
    warp.fault(instruction, "shared address " + std::to_string(int64_t(address)) + " of " +
                                std::to_string(sharedMemory.size()));
  if (address % bytes)
    warp.fault(instruction, "shared address " + std::to_string(address) + " is no multiple of " +
                                std::to_string(bytes));
  return &sharedMemory[address];
}

uint8_t *Cta::generic(Warp &warp, const Instruction &instruction, Word address, int bytes,
                      int lane) {
  const Word inWindow = address & ~windowMask;
  switch (address & windowMask) {
  case sharedWindow:
    return shared(warp, instruction, inWindow, bytes);
  case localWindow:
    if (inWindow + bytes > size_t(launch.kernel->localBytes))
      warp.fault(instruction, "local address " + std::to_string(inWindow));
    return warp.localMemory(lane) + inWindow;
  case paramWindow:
    if (inWindow + bytes > launch.params.size())
      warp.fault(instruction, "parameter address " + std::to_string(inWindow));
    return const_cast<uint8_t *>(launch.params.data()) + inWindow;
  }
  if (!launch.reach.holderOf(address, bytes)) {
    char text[64];
    std::snprintf(text, sizeof text, "address 0x%llx, %d bytes, lane %d",
                  static_cast<unsigned long long>(address), bytes, lane);
    warp.fault(instruction, std::string(text) + ": not allocated");
  }
  if (address % bytes)
    warp.fault(instruction, "an address that is no multiple of " + std::to_string(bytes));
  return reinterpret_cast<uint8_t *>(address);
}

} // namespace pantile::ptx
