//===- Launches.h - at which place of the program each launch was made ---------------------===//
// Needs: CUPTI's callbacks at the start and end of launches, with their correlation ids.
// Gives: the place for the correlation id of a kernel's record, and the place of the capture for
//        the node of a graph.
// How:   a launch through the CUDA runtime is a launch of the driver within; both ids get the
//        place. A record ends its launch's entry, except where a launch gives several records.
//        Those, and launches that are captured and give none, are forgotten once there are many.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
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

  /// Callbacks start again: launches whose end was not told of are over.
  void begin();

  /// The calling thread starts a launch; `hasMany`: of more than one kernel.
  void enter(uint32_t correlation, bool hasMany);
  void leave();

  /// The place of the launch that gave a record; 0 if it was made before the profile started.
  uint32_t placeOf(uint32_t correlation);

  /// A node of a graph was made by the launch in progress, or is a copy of another one.
  void addNode(uint64_t node);
  void copyNode(uint64_t original, uint64_t node);
  std::optional<uint32_t> captureOf(uint64_t node);

  /// The last launch that was started.
  uint32_t latest() const { return last.load(std::memory_order_relaxed); }

  size_t size();

  /// Forgets the launches up to `correlation`, of which all records have come.
  void forget(uint32_t correlation);

private:
  struct Launch {
    uint32_t place, twin; ///< twin: the other id of the same launch, or the same one
    bool hasMany;
  };

  std::mutex mutex;
  std::unordered_map<uint32_t, Launch> launches;
  std::unordered_map<uint64_t, uint32_t> nodes;
  std::atomic<uint32_t> last = 0;
};

} // namespace pantile
