//===- LoadFlow.cpp - follow loaded values through registers and lanes ---------------===//
// Needs: Machine.h.
// Gives: LoadFlow, LoadSets, LoadedBy.
// How:   The analysis ignores branches: a write to a register anywhere reaches all reads of it. A
//        shuffle gives a lane the loads of another one; other exchanges between lanes give each
//        lane the loads of all of them.
//===------------------------------------------------------------------------------------------===//
#include "LoadFlow.h"
#include "Machine.h"
#include <algorithm>

namespace pantile::ptx {
namespace {
constexpr size_t mostLoads = 2048;         // of a set
constexpr size_t mostLoadsOfAll = 4 << 20; // of all sets together; beyond, new ones are `any`

bool isExchange(const Instruction &i) {
  return i.kind == Kind::Shuffle || i.kind == Kind::Exchange;
}

bool isAnyOf(const std::vector<int> &registers, const std::vector<bool> &of) {
  return std::any_of(registers.begin(), registers.end(), [&](int reg) { return of[reg]; });
}

/// Adds `registers`; whether some are new.
bool add(const std::vector<int> &registers, std::vector<bool> &to) {
  bool isNew = false;
  for (int reg : registers)
    isNew |= !to[reg], to[reg] = true;
  return isNew;
}

/// The registers that depend on a load.
std::vector<bool> loadedRegisters(const Kernel &kernel) {
  std::vector<bool> result(kernel.registers);
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const Instruction &i : kernel.code)
      if (i.kind == Kind::Load || isAnyOf(i.sources, result))
        isNew |= add(i.results, result);
  }
  return result;
}

/// The registers on which a store depends.
std::vector<bool> storedRegisters(const Kernel &kernel) {
  std::vector<bool> result(kernel.registers);
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (auto i = kernel.code.rbegin(); i != kernel.code.rend(); ++i)
      if (i->kind == Kind::Store || isAnyOf(i->results, result))
        isNew |= add(i->sources, result);
  }
  return result;
}

} // namespace

LoadFlow::LoadFlow(const Kernel &kernel) {
  if (std::none_of(kernel.code.begin(), kernel.code.end(), isExchange))
    return;
  const std::vector<bool> loaded = loadedRegisters(kernel), stored = storedRegisters(kernel);
  std::vector<bool> chosen;
  bool isExchanged = false;
  for (const Instruction &i : kernel.code) {
    const bool isOnTheWay = std::any_of(i.results.begin(), i.results.end(),
                                        [&](int reg) { return loaded[reg] && stored[reg]; });
    chosen.push_back(isOnTheWay);
    isExchanged |= isOnTheWay && isExchange(i);
  }
  if (isExchanged)
    followed = std::move(chosen);
}

//===- sets of loads ------------------------------------------------------------------------===//

LoadSets::Id LoadSets::named(Set set) {
  if (set.size() > mostLoads)
    return any;
  const auto found = names.find(set);
  if (found != names.end())
    return found->second;
  if (loads + set.size() > mostLoadsOfAll)
    return any;
  loads += set.size();
  const Id id = sets.size();
  sets.push_back(set);
  names.emplace(std::move(set), id);
  return id;
}

LoadSets::Id LoadSets::joined(Id a, Id b) {
  if (a == b || b == none)
    return a;
  if (a == none || b == any)
    return b;
  if (a == any)
    return any;
  const uint64_t key = uint64_t(std::min(a, b)) << 32 | std::max(a, b);
  const auto found = joins.find(key);
  if (found != joins.end())
    return found->second;
  Set both;
  std::set_union(sets[a].begin(), sets[a].end(), sets[b].begin(), sets[b].end(),
                 std::back_inserter(both));
  return joins[key] = named(std::move(both));
}

LoadSets::Id LoadSets::moved(Id set, int from, int to) {
  const uint32_t bits = from ^ to;
  if (!bits || set == none || set == any)
    return set;
  const uint64_t key = uint64_t(set) << 32 | bits;
  const auto found = moves.find(key);
  if (found != moves.end())
    return found->second;
  Set other = sets[set];
  for (uint32_t &load : other)
    load ^= bits;
  std::sort(other.begin(), other.end());
  return moves[key] = named(std::move(other));
}

bool LoadSets::contains(Id set, uint32_t instruction, int lane, int by) const {
  return set == any ||
         std::binary_search(sets[set].begin(), sets[set].end(), name(instruction, lane ^ by));
}

bool LoadSets::containsAny(Id set, uint32_t instruction) const {
  const auto first = std::lower_bound(sets[set].begin(), sets[set].end(), name(instruction, 0));
  return set == any || (first != sets[set].end() && *first < name(instruction + 1, 0));
}

//===- a warp that runs ---------------------------------------------------------------------===//

void LoadedBy::start(LoadSets &given, int registers) {
  all = &given;
  common.assign(registers, LoadSets::none);
  single.clear();
}

LoadSets::Id LoadedBy::setOf(int reg, int lane) const {
  return common[reg] == various ? single.at(reg)[lane] : common[reg];
}

LoadSets::Id LoadedBy::sources(const Instruction &instruction, int lane) const {
  LoadSets::Id result = LoadSets::none;
  for (int reg : instruction.sources)
    result = all->joined(result, setOf(reg, lane));
  return result;
}

/// The sources of every lane, or `various`.
LoadSets::Id LoadedBy::commonSources(const Instruction &instruction) const {
  LoadSets::Id result = LoadSets::none;
  for (int reg : instruction.sources) {
    if (common[reg] == various)
      return various;
    result = all->joined(result, common[reg]);
  }
  return result;
}

void LoadedBy::follow(const Warp &warp, const Instruction &instruction, Lanes active) {
  const LoadSets::Id own = instruction.kind == Kind::Load
                               ? all->own(&instruction - warp.kernel.code.data())
                               : LoadSets::none;
  const LoadSets::Id ofAll = commonSources(instruction);
  if (active == warp.live && ofAll != various && !isExchange(instruction)) {
    for (int reg : instruction.results)
      common[reg] = all->joined(ofAll, own);
    return;
  }
  OfLanes found{};
  forLanes(active, [&](int lane) {
    found[lane] = all->joined(ofAll == various ? sources(instruction, lane) : ofAll, own);
  });
  if (isExchange(instruction))
    exchange(warp, instruction, active, found);
  for (int reg : instruction.results)
    set(reg, active, found);
}

/// What lanes get that give each other `found`.
void LoadedBy::exchange(const Warp &warp, const Instruction &instruction, Lanes active,
                        OfLanes &found) {
  if (instruction.kind == Kind::Shuffle) {
    const OfLanes own = found;
    forLanes(active, [&](int lane) {
      const int from = shuffleSource(warp, instruction, lane).lane;
      found[lane] = all->moved(own[from], from, lane);
    });
    return;
  }
  LoadSets::Id together = LoadSets::none; // as lane 0 names them
  forLanes(active,
           [&](int lane) { together = all->joined(together, all->moved(found[lane], lane, 0)); });
  forLanes(active, [&](int lane) { found[lane] = all->moved(together, 0, lane); });
}

void LoadedBy::set(int reg, Lanes active, const OfLanes &found) {
  OfLanes now{};
  for (int lane = 0; lane < warpSize; ++lane)
    now[lane] = active >> lane & 1 ? found[lane] : setOf(reg, lane);
  const bool isCommon = std::all_of(now.begin(), now.end(), [&](auto id) { return id == now[0]; });
  common[reg] = isCommon ? now[0] : various;
  if (!isCommon)
    single[reg] = now;
}

} // namespace pantile::ptx
