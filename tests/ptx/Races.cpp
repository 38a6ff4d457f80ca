//===- Races.cpp - compare each access with earlier ones -----------------------------===//
// Needs: see Races.h.
// Gives: Races.
// How:   A release attaches the clock of the thread to the address; the release sequence continues
//        through atomics that update it and ends at other writes.
//===------------------------------------------------------------------------------------------===//
#include "Races.h"
#include <algorithm>
#include <cstdlib>

namespace pantile::ptx {
namespace {

std::string positionOf(Dim3 at) {
  return "CTA (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
         std::to_string(at.z) + ")";
}

} // namespace

Races::Races()
    : checks(isChecked("races")), allowsCopies(!std::getenv("PANTILE_EMULATION_COPIES")),
      agents(1) {}

void Races::add(Launch &launch) {
  launch.races = this;
  launch.flow = std::make_shared<LoadFlow>(*launch.kernel);
  launch.whole = agents.size();
  agents.push_back({&launch, {}, 0, 0, -1});
}

Agent Races::addAgents(const Cta &cta, int warp, int count) {
  const Launch &launch = cta.launch;
  const Agent first = agents.size();
  const uint64_t number =
      (uint64_t(cta.at.z) * launch.grid.y + cta.at.y) * launch.grid.x + cta.at.x;
  agents.insert(agents.end(), count,
                AgentInfo{&launch, cta.at, number, number / uint64_t(launch.cluster), warp});
  return first;
}

//===- what orders two accesses -----------------------------------------------------------------===//

bool Races::areOfOneCta(Agent a, Agent b) const {
  return agents[a].launch == agents[b].launch && agents[a].cta == agents[b].cta;
}

/// The scope that includes both.
Scope Races::leastScope(Agent a, Agent b) const {
  const Launch *launch = agents[a].launch, *other = agents[b].launch;
  if (launch != other)
    return launch->device == other->device ? Scope::Gpu : Scope::Sys;
  return agents[a].cta == agents[b].cta           ? Scope::Cta
         : agents[a].cluster == agents[b].cluster ? Scope::Cluster
                                                  : Scope::Gpu;
}

bool Races::areMorallyStrong(Agent a, Scope ofA, Agent b, Scope ofB) const {
  const Scope least = leastScope(a, b);
  return ofA >= least && ofB >= least;
}

bool Races::isOfLaunchBefore(const Touch &touch, const Stamp &earlier) const {
  const Clock &before = agents[touch.stamp.agent].launch->before;
  return before && before->covers(agents[earlier.agent].launch->whole, 1, severalLanes);
}

Stamp Races::wholeOf(const Stamp &stamp) const {
  Stamp whole;
  whole.agent = agents[stamp.agent].launch->whole, whole.tick = 1, whole.lane = severalLanes;
  return whole;
}

bool Races::isAfter(const Touch &touch, const Stamp &earlier) const {
  const WarpClock &clock = touch.warp.clock;
  return clock.isAfter(earlier, touch.stamp.lane) ||
         (isShared && clock.isAfter(wholeOf(earlier), touch.stamp.lane));
}

bool Races::isFenced(const Touch &touch, const Stamp &earlier) const {
  const WarpClock &clock = touch.warp.clock;
  return clock.isFenced(earlier, touch.stamp.lane) ||
         (isShared && clock.isFenced(wholeOf(earlier), touch.stamp.lane));
}

bool Races::mayFollow(const Touch &touch, const Stamp &earlier) const {
  if (!earlier)
    return true;
  const Stamp &now = touch.stamp;
  if (now.agent == earlier.agent && now.tick == earlier.tick && now.lane == earlier.lane &&
      now.lane != severalLanes)
    return true;
  if (now.isStrong && earlier.isStrong &&
      areMorallyStrong(now.agent, now.scope, earlier.agent, earlier.scope))
    return true;
  return isAfter(touch, earlier);
}

//===- accesses -----------------------------------------------------------------------------===//

void Races::note(const Touch &touch, ShadowCell &cell) const {
  const Stamp &now = touch.stamp;
  for (Stamp &read : cell.reads) {
    const bool joins = read.agent == now.agent && read.tick == now.tick &&
                       read.isStrong == now.isStrong && read.instruction == now.instruction;
    if (joins && read.lane != now.lane)
      read.lane = severalLanes;
    if (joins)
      return;
  }
  if (Stamp *place = placeFor(touch, cell))
    *place = now;
}

/// What a new read takes the place of; null: it is forgotten.
Stamp *Races::placeFor(const Touch &touch, ShadowCell &cell) const {
  const Stamp &now = touch.stamp;
  Stamp *free = nullptr, *past = nullptr;
  for (Stamp &read : cell.reads) {
    const bool isPast = read && read.isStrong == now.isStrong && isAfter(touch, read);
    if (isPast && read.instruction == now.instruction)
      return &read;
    if (!read)
      free = &read;
    else if (isPast && (!past || read.tick < past->tick))
      past = &read; // the oldest: of an element's copies the latest loads count
  }
  if (free)
    return free;
  Stamp *last = lastCopied(now, cell);
  if (isCopied(now, now, cell) && (!last || now.agent > last->agent))
    return nullptr;
  return last ? last : past ? past : &cell.reads[now.tick % cell.reads.size()];
}

/// Whether an earlier warp reads by the instruction of `read`, among those of the cell and `now`.
bool Races::isCopied(const Stamp &read, const Stamp &now, const ShadowCell &cell) const {
  auto isBefore = [&](const Stamp &other) {
    return isCopy(other, read) && other.instruction == read.instruction && other.agent < read.agent;
  };
  return isBefore(now) || std::ranges::any_of(cell.reads, isBefore);
}

/// Of those that read by one instruction the first warps stay: one of them may be the one that
/// stores.
Stamp *Races::lastCopied(const Stamp &now, ShadowCell &cell) const {
  Stamp *last = nullptr;
  for (Stamp &read : cell.reads)
    if (isCopied(read, now, cell) && (!last || read.agent > last->agent))
      last = &read;
  return last;
}

/// Whether `read` may be of another thread of the CTA for the same element.
bool Races::isCopy(const Stamp &write, const Stamp &read) const {
  return allowsCopies && read && !read.isStrong && !read.isAsync && !write.isStrong &&
         !write.isAsync && areOfOneCta(write.agent, read.agent);
}

/// Whether what is written depends on `read`, which a lane of the same warp made.
bool Races::flowsInto(const Stamp &read, const Touch &write) const {
  if (!write.loads || read.agent != write.stamp.agent || read.isAsync)
    return false;
  if (read.lane == severalLanes)
    return isCopy(write.stamp, read) && loadSets.containsAny(write.loads, read.instruction);
  return loadSets.contains(write.loads, read.instruction, read.lane, write.stamp.lane);
}

/// Whether `read` was made by the lane that writes, or for it.
bool Races::isOwnRead(const Stamp &read, const Touch &write) const {
  const bool isOfLane = read.lane == write.stamp.lane || read.lane == severalLanes;
  return (read.agent == write.stamp.agent && isOfLane) || flowsInto(read, write);
}

/// By which instructions the bytes were read for the write; the latest two.
std::array<uint32_t, 2> Races::instructionsOfReads(const ShadowCell &cell,
                                                   const Touch &write) const {
  std::array<const Stamp *, 2> found{};
  for (const Stamp &read : cell.reads) {
    if (!read || !isOwnRead(read, write))
      continue;
    if (!found[0] || read.tick > found[0]->tick)
      found = {&read, found[0]};
    else if (!found[1] || read.tick > found[1]->tick)
      found[1] = &read;
  }
  return {found[0] ? found[0]->instruction : noInstruction,
          found[1] ? found[1]->instruction : noInstruction};
}

/// Whether the write depends on `read`, or on a read of which `read` is a copy. Shared memory has
/// no copies.
bool Races::isReadBefore(const Touch &write, const Place &place, const ShadowCell &cell,
                         const Stamp &read) const {
  if (place.cta)
    return read.lane != severalLanes && flowsInto(read, write);
  auto isOriginal = [&](const Stamp &own) {
    return own && own.instruction == read.instruction && isOwnRead(own, write);
  };
  return flowsInto(read, write) || (isCopy(write.stamp, read) &&
                                    std::any_of(cell.reads.begin(), cell.reads.end(), isOriginal));
}

void Races::read(const Touch &touch, const Place &place, int bytes) {
  if (!checks || !place.shadow)
    return;
  place.shadow->forCells(place.address, bytes, [&](ShadowCell &cell, int offset, int) {
    // One after the write is none: in the next iteration, what was written is read for its own
    // sake.
    const bool isLateCopy = std::ranges::count(cell.readBy, touch.stamp.instruction) &&
                            isCopy(cell.write, touch.stamp) && !mayFollow(touch, cell.write);
    if (!place.cta && isLateCopy)
      return;
    if (touch.isReadOnly) {
      if (!cell.isSilent)
        requireConstant(touch, place, offset, cell.write);
      requireConstant(touch, place, offset, cell.update);
    }
    if (!cell.isSilent && !mayFollow(touch, cell.write))
      report(touch, place, offset, "reads", cell.write, "writes");
    if (!mayFollow(touch, cell.update))
      report(touch, place, offset, "reads", cell.update, "updates");
    note(touch, cell);
  });
}

void Races::readAsync(const Touch &touch, const Place &place, int bytes) {
  read(touch, place, bytes);
  if (!checks || !place.shadow)
    return;
  place.shadow->forCells(place.address, bytes, [&](ShadowCell &cell, int offset, int) {
    if (cell.write && !cell.write.isAsync && !cell.isSilent && !isFenced(touch, cell.write))
      touch.warp.fault(touch.instruction, "reads " + nameOf(touch.warp.cta.launch, place, offset) +
                                              ", which " + nameOf(cell.write) +
                                              " wrote, without `fence.proxy.async` between");
  });
}

void Races::requireConstant(const Touch &touch, const Place &place, int offset,
                            const Stamp &write) const {
  if (write && !isOfLaunchBefore(touch, write))
    touch.warp.fault(touch.instruction, "reads " + nameOf(touch.warp.cta.launch, place, offset) +
                                            " by the non-coherent path, which " + nameOf(write) +
                                            " wrote after the launch had started");
}

void Races::write(const Touch &touch, const Place &place, int bytes, const uint8_t *old,
                  const uint8_t *now) {
  if (!place.cta && place.shadow && (!now || std::memcmp(old, now, bytes)))
    ++changes;
  if (!checks || !place.shadow)
    return;
  if (!touch.stamp.isStrong && !place.shadow->handed.empty())
    place.shadow->handed.erase(place.address);
  place.shadow->forCells(place.address, bytes, [&](ShadowCell &cell, int offset, int size) {
    const bool isSilent = now && !std::memcmp(old + offset, now + offset, size);
    if (!isSilent) {
      if (!mayFollow(touch, cell.write))
        report(touch, place, offset, "writes", cell.write, "writes");
      if (!mayFollow(touch, cell.update))
        report(touch, place, offset, "writes", cell.update, "updates");
      for (const Stamp &read : cell.reads)
        if (!mayFollow(touch, read) && !isReadBefore(touch, place, cell, read))
          report(touch, place, offset, "writes", read, "reads");
      for (const Stamp &read : cell.reads)
        if (place.cta && touch.stamp.isAsync && read && !read.isAsync && !isFenced(touch, read))
          touch.warp.fault(touch.instruction, "writes what " + nameOf(read) +
                                                  " read, without `fence.proxy.async` between");
      cell.readBy = instructionsOfReads(cell, touch);
      cell.reads = {};
    }
    if (touch.stamp.isStrong) {
      cell.update = touch.stamp;
      return;
    }
    cell.write = touch.stamp, cell.update = {};
    cell.isSilent = isSilent;
  });
}

Touch Races::touch(const Warp &warp, const Instruction &instruction, int lane) {
  Stamp stamp;
  stamp.agent = warp.clock.agent(), stamp.tick = warp.clock.now();
  stamp.instruction = &instruction - warp.kernel.code.data();
  stamp.lane = lane;
  return {warp, instruction, stamp, false};
}

Touch Races::touch(const Warp &warp, const Instruction &instruction, int lane, const Order &order) {
  Touch result = touch(warp, instruction, lane);
  result.stamp.isStrong = order.isStrong;
  result.stamp.scope = order.scope;
  if (warp.flow)
    result.loads = warp.loadedBy.sources(instruction, lane);
  result.isReadOnly = order.isReadOnly;
  return result;
}

Touch Races::asyncTouch(const Warp &warp, const Instruction &instruction, int lane, Agent agent,
                        Tick tick) {
  Touch result = touch(warp, instruction, lane);
  result.stamp.agent = agent, result.stamp.tick = tick;
  result.stamp.isAsync = true;
  return result;
}

//===- what strong accesses hand on -----------------------------------------------------------===//

void Races::observe(Warp &warp, const Place &place, int lane, const Order &order) {
  if (!checks || !place.shadow || !order.isStrong)
    return;
  const auto found = place.shadow->handed.find(place.address);
  if (found == place.shadow->handed.end())
    return;
  const Lanes lanes = Lanes(1) << lane;
  for (const Handed &handed : found->second) {
    if (!areMorallyStrong(warp.clock.agent(), order.scope, handed.by, handed.scope))
      continue;
    if (order.acquires)
      warp.clock.acquire(lanes, handed.knowledge);
    Handed later = handed;
    later.scope = std::min(handed.scope, order.scope);
    warp.clock.observe(lanes, later);
  }
}

void Races::handOn(Warp &warp, const Place &place, int lane, const Order &order, bool isUpdate,
                   const Knowledge *released) {
  if (!checks || !place.shadow || !order.isStrong)
    return;
  auto found = place.shadow->handed.find(place.address);
  if (found != place.shadow->handed.end()) {
    std::erase_if(found->second, [&](Handed &handed) {
      if (!isUpdate || !areMorallyStrong(warp.clock.agent(), order.scope, handed.by, handed.scope))
        return true;
      handed.scope = std::min(handed.scope, order.scope);
      return false;
    });
  }
  Handed mine{{}, order.scope, warp.clock.agent()};
  if (released)
    mine.knowledge = *released;
  else if (const Handed *fenced = warp.clock.fencedBefore(lane)) {
    mine.knowledge = fenced->knowledge;
    mine.scope = std::min(mine.scope, fenced->scope);
  } else
    return;
  std::vector<Handed> &all = place.shadow->handed[place.address];
  for (Handed &handed : all)
    if (handed.scope == mine.scope &&
        (mine.scope == Scope::Sys || areOfOneCta(handed.by, mine.by) ||
         (mine.scope == Scope::Gpu && leastScope(handed.by, mine.by) < Scope::Sys))) {
      handed.knowledge.join(mine.knowledge);
      return;
    }
  all.push_back(mine);
}

void Races::fence(Warp &warp, Lanes lanes, Scope scope) {
  if (checks)
    warp.clock.fence(lanes, scope, [&](const Handed &handed, Scope ofFence) {
      return areMorallyStrong(warp.clock.agent(), ofFence, handed.by, handed.scope);
    });
}

//===- reports ------------------------------------------------------------------------------===//

std::string Races::nameOf(const Stamp &stamp) const {
  const AgentInfo &agent = agents[stamp.agent];
  const Launch &launch = *agent.launch;
  const Instruction &instruction = launch.kernel->code[stamp.instruction];
  std::string text = "`" + instruction.op.text + "` in line " + std::to_string(instruction.line) +
                     ", " + positionOf(agent.at);
  if (isShared)
    text += " of `" + launch.kernel->name + "` on GPU " + std::to_string(launch.device);
  if (agent.warp >= 0)
    text += ", warp " + std::to_string(agent.warp);
  if (stamp.lane == severalLanes)
    return text + ", several lanes,";
  return text + ", lane " + std::to_string(stamp.lane) + ",";
}

std::string Races::nameOf(const Launch &launch, const Place &place, int offset) const {
  const Word address = place.address + offset;
  if (place.cta)
    return "shared memory at " + std::to_string(address) +
           (launch.cluster > 1 ? " of " + positionOf(place.cta->at) : "");
  const Memory *const holder = launch.reach.holderOf(address, 1);
  const Word begin = holder->beginOf(address);
  std::string text = "byte " + std::to_string(address - begin) + " of ";
  for (const Kernel::Param &param : launch.kernel->params) {
    Word value = 0;
    if (param.bytes == 8)
      std::memcpy(&value, &launch.params[param.offset], 8);
    if (value && holder->contains(value, 1) && holder->beginOf(value) == begin)
      return text + "the array of `" + param.name + "`";
  }
  return text + "an allocation that is no argument";
}

void Races::report(const Touch &touch, const Place &place, int offset, const char *does,
                   const Stamp &earlier, const char *did) const {
  const std::string lane = touch.stamp.lane == severalLanes
                               ? "several lanes"
                               : "lane " + std::to_string(touch.stamp.lane);
  touch.warp.fault(touch.instruction, "a race: " + lane + " " + does + " " +
                                          nameOf(touch.warp.cta.launch, place, offset) +
                                          ", which " + nameOf(earlier) + " " + did +
                                          ", and nothing orders the two");
}

} // namespace pantile::ptx
