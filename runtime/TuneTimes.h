//===- TuneTimes.h - what the tuner found, in the kernel cache ------------------------------===//
// Needs: the arguments of the launches, and the kind of the GPU; none for the CPU.
// Gives: the time of each kernel that another call has measured, what another call kept of a search
//        space, and a lock so that of several processes one measures at a time.
// How:   a time belongs to the kernel's content key, the kind of GPU, the grid, how it is launched
//        and the numbers among the arguments. The lock is CacheLock, as of compilations: a process
//        that is killed frees it, and what it has measured is in the cache by then.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cache/CacheLock.h"
#include "runtime/TuneCandidates.h"
#include <memory>
#include <optional>

namespace pantile {

class TuneTimes {
public:
  /// Without a `device`, its kind, nothing is kept.
  TuneTimes(const TuneOptions &options, std::string device);

  bool areKept() const { return !device.empty(); }
  /// The measurement of another call, or why that could not launch the kernel.
  std::optional<TuneMeasurement> load(const Kernel &kernel, const Grid &grid) const;
  void store(const Kernel &kernel, const Grid &grid, const TuneMeasurement &measurement) const;

  /// The key for what is kept of `candidates`; empty where nothing is.
  std::string spaceKey(const TuneSource &source,
                       const std::vector<TuneCandidate> &candidates) const;
  std::vector<size_t> loadKept(const std::string &key, size_t candidates) const;
  void storeKept(const std::string &key, const std::vector<size_t> &kept) const;

  /// Held by the process that measures `source` for these arguments. Waits for another one;
  /// `warning` says where that took too long.
  std::unique_ptr<CacheLock> lock(const TuneSource &source, std::string &warning) const;

private:
  std::string keyOf(const Kernel &kernel, const Grid &grid) const;
  const TuneOptions &options;
  const std::string device;
};

} // namespace pantile
