//===- Launches.h - the place of the program at which each launch was made -----------------===//
// Needs: CUPTI's callbacks at the start and end of launches, with their correlation ids.
// Gives: the place of a kernel's record by its correlation id, and the place where the node of a
//        graph was captured.
// How:   a launch through the CUDA runtime contains a launch of the driver; both ids get the place.
//        A record removes its launch's entry, except for launches with several records. Those, and
//        captured launches, which have no record, are dropped when there are too many entries.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>

namespace pantile {

class Launches {
public:
  using Refine = uint32_t (*)(uint32_t place);

  static constexpr uint32_t mostLaunches = uint32_t(1) << 22;

  /// Of the calling thread; see pantile/Profiler.h.
  static void setPlace(std::optional<uint32_t> place);
  static void setSharedPlace(uint32_t place);
  static void refineBy(Refine refine);

  /// Callbacks start again: launches whose end was not reported count as ended.
  void begin();

  /// The calling thread starts a launch; `hasMany` if it runs more than one kernel.
  void enter(uint32_t correlation, bool hasMany);
  void leave();

  /// The place of a record's launch; 0 if that was made before the profile started.
  uint32_t placeOf(uint32_t correlation);

  /// A node of a graph was made by the launch in progress, or is a copy of another one.
  void addNode(uint64_t node);
  void copyNode(uint64_t original, uint64_t node);
  std::optional<uint32_t> captureOf(uint64_t node);

  /// The last launch that has ended, as have all before it.
  uint32_t endedUpTo();

  size_t size();

  /// Drops the launches up to `correlation`, whose records have all been read.
  void forget(uint32_t correlation);

private:
  struct Launch {
    uint32_t place, twin; ///< twin: the other id of the same launch, or the same one
    bool hasMany;
  };

  std::mutex mutex;
  std::unordered_map<uint32_t, Launch> launches;
  std::unordered_map<uint64_t, uint32_t> nodes;
  std::set<uint32_t> open; ///< outermost launches in progress
  uint32_t last = 0;       ///< the last one that was started
};

} // namespace pantile
