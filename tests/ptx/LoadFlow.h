//===- LoadFlow.h - which loads a value depends on -----------------------------------===//
// Needs: Program.h.
// Gives: LoadFlow, LoadSets, LoadedBy.
// How:   A store that depends on what another lane of the warp loaded comes after that load: the
//        value has to arrive before it can be used. LoadFlow finds the instructions that are worth
//        following: none, if no loaded value reaches a store through another lane. LoadedBy follows
//        them while a warp runs, as a set of loads for each register, of all lanes or of each.
//        Values in memory are not followed.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"
#include <array>
#include <unordered_map>

namespace pantile::ptx {

using Lanes = uint32_t;

/// What a text says of its loads and stores.
class LoadFlow {
public:
  explicit LoadFlow(const Kernel &kernel);

  /// No value goes from a load through another lane to a store.
  bool isEmpty() const { return followed.empty(); }
  /// Whether `instruction` makes a value on the way from a load to a store.
  bool follows(size_t instruction) const { return followed[instruction]; }

private:
  std::vector<bool> followed; // by instruction
};

/// Sets of loads, each once. The number of a set is its name. A lane names the lanes of loads from
/// itself, by the bits in which their numbers differ, so that lanes that do the same have one set.
class LoadSets {
public:
  using Id = uint32_t;
  static constexpr Id none = 0, any = 1; ///< any: of more loads than are followed

  /// The set of what the lane itself loads by `instruction`.
  Id own(uint32_t instruction) { return named({name(instruction, 0)}); }
  Id joined(Id a, Id b);
  /// What lane `from` calls `set`, as lane `to` names it.
  Id moved(Id set, int from, int to);
  /// Whether `set` of lane `by` has the load by `instruction` of `lane`.
  bool contains(Id set, uint32_t instruction, int lane, int by) const;
  /// Whether it has a load of `instruction`, in whatever lane.
  bool containsAny(Id set, uint32_t instruction) const;

private:
  using Set = std::vector<uint32_t>; // sorted
  static uint32_t name(uint32_t instruction, int lane) { return instruction * warpSize + lane; }
  Id named(Set set);

  std::vector<Set> sets{{}, {}};
  std::map<Set, Id> names;
  std::unordered_map<uint64_t, Id> joins; // by the two sets, the smaller number first
  std::unordered_map<uint64_t, Id> moves; // by the set and the bits in which the lanes differ
  size_t loads = 0;                       // in all sets together
};

/// The loads that each register depends on, in each lane of a warp.
class LoadedBy {
public:
  void start(LoadSets &all, int registers);
  /// Before `instruction` runs for lanes `active`.
  void follow(const Warp &warp, const Instruction &instruction, Lanes active);
  /// What the operands and the guard of `instruction` depend on in `lane`.
  LoadSets::Id sources(const Instruction &instruction, int lane) const;

private:
  using OfLanes = std::array<LoadSets::Id, warpSize>;
  static constexpr LoadSets::Id various = ~LoadSets::Id(0);

  LoadSets::Id setOf(int reg, int lane) const;
  LoadSets::Id commonSources(const Instruction &instruction) const;
  void exchange(const Warp &warp, const Instruction &instruction, Lanes active, OfLanes &found);
  void set(int reg, Lanes active, const OfLanes &found);

  LoadSets *all = nullptr;
  std::vector<LoadSets::Id> common;        // by register: of every lane; or `various`
  std::unordered_map<int, OfLanes> single; // of registers with `various`
};

} // namespace pantile::ptx
