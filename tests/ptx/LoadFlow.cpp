//===- LoadFlow.cpp - follow loaded values through registers and lanes ---------------===//
// Needs: Machine.h, Operands.h.
// Gives: LoadFlow, LoadSets, LoadedBy.
// How:   The analysis ignores branches: a write to a register anywhere reaches all reads of it. A
//        shuffle gives a lane the loads of another one; other exchanges between lanes give each
//        lane the loads of all of them.
//===------------------------------------------------------------------------------------------===//
#include "LoadFlow.h"
#include "Machine.h"
#include "Operands.h"

namespace pantile::ptx {
namespace {
constexpr size_t mostLoads = 2048;         // of a set
constexpr size_t mostLoadsOfAll = 4 << 20; // of all sets together; beyond, new ones are `any`

bool isLoad(const Instruction &i) {
  return i.op.base == "ld" && !i.op.has("param") && !i.op.has("local") && !i.op.has("const");
}

bool isStore(const Instruction &i) {
  return i.op.base == "st" || i.op.base == "red" || i.op.base == "atom";
}

bool isExchange(const Instruction &i) {
  static constexpr std::string_view bases[] = {"shfl", "vote", "match", "redux", "mma"};
  return std::find(std::begin(bases), std::end(bases), i.op.base) != std::end(bases);
}

/// The registers that depend on a load.
std::vector<bool> loadedRegisters(const Kernel &kernel) {
  std::vector<bool> result(kernel.registers);
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const Instruction &i : kernel.code) {
      bool isLoaded = isLoad(i);
      forSources(i, [&](int reg) { isLoaded |= result[reg]; });
      if (isLoaded)
        forResults(i, [&](int reg) { isNew |= !result[reg], result[reg] = true; });
    }
  }
  return result;
}

/// The registers on which a store depends.
std::vector<bool> storedRegisters(const Kernel &kernel) {
  std::vector<bool> result(kernel.registers);
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (auto i = kernel.code.rbegin(); i != kernel.code.rend(); ++i) {
      bool isStored = isStore(*i);
      forResults(*i, [&](int reg) { isStored |= result[reg]; });
      if (isStored)
        forSources(*i, [&](int reg) { isNew |= !result[reg], result[reg] = true; });
    }
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
    bool isOnTheWay = false;
    forResults(i, [&](int reg) { isOnTheWay |= loaded[reg] && stored[reg]; });
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

bool LoadSets::contains(Id set, uint32_t instruction, int lane) const {
  return set == any ||
         std::binary_search(sets[set].begin(), sets[set].end(), name(instruction, lane));
}

bool LoadSets::containsAny(Id set, uint32_t instruction) const {
  const auto first = std::lower_bound(sets[set].begin(), sets[set].end(), name(instruction, 0));
  return set == any || (first != sets[set].end() && *first < name(instruction + 1, 0));
}

//===- a warp that runs ---------------------------------------------------------------------===//

void LoadedBy::start(LoadSets &given, int registers) {
  all = &given;
  sets.assign(size_t(registers) * warpSize, LoadSets::none);
}

LoadSets::Id LoadedBy::sources(const Instruction &instruction, int lane) const {
  LoadSets::Id result = LoadSets::none;
  forSources(instruction,
             [&](int reg) { result = all->joined(result, sets[size_t(reg) * warpSize + lane]); });
  return result;
}

void LoadedBy::follow(const Warp &warp, const Instruction &instruction, Lanes active) {
  std::array<LoadSets::Id, warpSize> found{};
  const uint32_t number = &instruction - warp.kernel.code.data();
  const bool loads = isLoad(instruction);
  forLanes(active, [&](int lane) {
    found[lane] = sources(instruction, lane);
    if (loads)
      found[lane] = all->joined(found[lane], all->one(number, lane));
  });
  if (instruction.op.base == "shfl") {
    const auto own = found;
    forLanes(active,
             [&](int lane) { found[lane] = own[shuffleSource(warp, instruction, lane).lane]; });
  } else if (isExchange(instruction)) {
    LoadSets::Id together = LoadSets::none;
    forLanes(active, [&](int lane) { together = all->joined(together, found[lane]); });
    found.fill(together);
  }
  forResults(instruction, [&](int reg) {
    forLanes(active, [&](int lane) { sets[size_t(reg) * warpSize + lane] = found[lane]; });
  });
}

} // namespace pantile::ptx
