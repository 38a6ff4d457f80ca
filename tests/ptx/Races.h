//===- Races.h - detect accesses that nothing orders ---------------------------------===//
// Needs: Machine.h, WarpClock.h.
// Gives: Touch, Races.
// How:   Each access is compared with the last write and some reads of its bytes (Shadow.h): one
//        that did not happen before (WarpClock.h) is a race, if one of the two writes and they are
//        not both strong with scopes that include each other (PTX ISA, "Memory Consistency Model").
//        A write that leaves the value unchanged races with nothing: programs may store the same
//        value. Nor does a write with a read of its warp on which its value depends (LoadFlow.h).
//        If several threads of a CTA hold an element, all load it and one stores it: its write does
//        not race with what the same instruction loads for the others. That is too lenient if they
//        use what they loaded; PANTILE_EMULATION_COPIES=1 reports these, too.
//        Launches of peer GPUs are compared with one another: one that had ended before another
//        started happened before it. A load by the non-coherent path must read what no thread has
//        written since its launch started. PANTILE_EMULATION_UNCHECKED=races disables the check.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Machine.h"
#include "WarpClock.h"

namespace pantile::ptx {

/// Memory whose accesses are compared.
struct Place {
  Shadow *shadow; ///< null: memory that a thread has for itself
  Word address;   ///< in device memory or in the shared memory of `cta`
  const Cta *cta = nullptr;
};

/// An access as the instruction makes it.
struct Touch {
  const Warp &warp;
  const Instruction &instruction;
  Stamp stamp;
  LoadSets::Id loads = LoadSets::none; ///< of the warp, that what is written depends on
  bool isReadOnly = false;             ///< by the non-coherent path
};

class Races {
public:
  Races();

  /// A launch, which lives as long as this, starts: sets its `races` and `whole`.
  void add(Launch &launch);
  bool hasSeveralLaunches() const { return isShared; }
  /// More launches are to come, on this device or another.
  void share() { isShared = true; }
  /// Numbers for a warp and its units, or for a unit that is no warp's (`warp` is -1).
  Agent addAgents(const Cta &cta, int warp, int count);

  void read(const Touch &touch, const Place &place, int bytes);
  /// `now` is what the bytes at `old` become; null: not known, taken as another value.
  void write(const Touch &touch, const Place &place, int bytes, const uint8_t *old,
             const uint8_t *now);
  /// A read through the asynchronous proxy: also what the generic proxy wrote must be fenced.
  void readAsync(const Touch &touch, const Place &place, int bytes);

  /// A strong access reads what others handed on, or hands on itself. `isUpdate`: reads as well, so
  /// what earlier writes handed on stays.
  void observe(Warp &warp, const Place &place, int lane, const Order &order);
  void handOn(Warp &warp, const Place &place, int lane, const Order &order, bool isUpdate,
              const Knowledge *released);
  void fence(Warp &warp, Lanes lanes, Scope scope);

  /// A touch of lane `lane` of the warp itself.
  static Touch touch(const Warp &warp, const Instruction &instruction, int lane);
  static Touch touch(const Warp &warp, const Instruction &instruction, int lane,
                     const Order &order);
  /// A touch of a unit that works for lane `lane`; `tick` is the group of the operation.
  static Touch asyncTouch(const Warp &warp, const Instruction &instruction, int lane, Agent agent,
                          Tick tick);

  const bool checks, allowsCopies;
  LoadSets loadSets;
  Shadow global;
  uint64_t changes = 0; ///< writes to device memory of other values than were there

private:
  struct AgentInfo {
    const Launch *launch;
    Dim3 at;
    uint64_t cta, cluster;
    int warp;
  };
  bool areOfOneCta(Agent a, Agent b) const;
  Scope leastScope(Agent a, Agent b) const;
  /// Whether the launch of `earlier` had ended before that of `touch` started.
  bool isOfLaunchBefore(const Touch &touch, const Stamp &earlier) const;
  bool isAfter(const Touch &touch, const Stamp &earlier) const;
  /// The same, and `fence.proxy.async` came between.
  bool isFenced(const Touch &touch, const Stamp &earlier) const;
  /// An access that stands for all of the launch that has `stamp`.
  Stamp wholeOf(const Stamp &stamp) const;
  void requireConstant(const Touch &touch, const Place &place, int offset,
                       const Stamp &write) const;
  bool areMorallyStrong(Agent a, Scope ofA, Agent b, Scope ofB) const;
  bool mayFollow(const Touch &touch, const Stamp &earlier) const;
  void note(const Touch &touch, ShadowCell &cell) const;
  Stamp *placeFor(const Touch &touch, ShadowCell &cell) const;
  bool isCopied(const Stamp &read, const Stamp &now, const ShadowCell &cell) const;
  Stamp *lastCopied(const Stamp &now, ShadowCell &cell) const;
  bool isCopy(const Stamp &write, const Stamp &read) const;
  bool flowsInto(const Stamp &read, const Touch &write) const;
  bool isReadBefore(const Touch &write, const Place &place, const ShadowCell &cell,
                    const Stamp &read) const;
  bool isOwnRead(const Stamp &read, const Touch &write) const;
  std::array<uint32_t, 2> instructionsOfReads(const ShadowCell &cell, const Touch &write) const;
  [[noreturn]] void report(const Touch &touch, const Place &place, int offset, const char *does,
                           const Stamp &earlier, const char *did) const;
  std::string nameOf(const Launch &launch, const Place &place, int offset) const;
  std::string nameOf(const Stamp &stamp) const;

  std::vector<AgentInfo> agents;
  bool isShared = false;
};

} // namespace pantile::ptx
