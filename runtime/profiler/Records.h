//===- Records.h - the sums and runs of kernels, from CUPTI's records ----------------------===//
// Needs: buffers of records as CUPTI completes them, on threads of its own.
// Gives: the Profile since the last call of `take`.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Profiler.h"
#include "runtime/profiler/Cupti.h"
#include "runtime/profiler/Launches.h"
#include <unordered_map>

namespace pantile {

class Records {
public:
  explicit Records(Launches &launches) : launches(launches) {}

  /// Reads the records of a buffer.
  void read(const Cupti &cupti, uint8_t *buffer, size_t bytes);
  void addLost(uint64_t count);
  void keepRuns(bool keep);

  /// The records since the last call.
  Profile take();

private:
  struct Hash {
    size_t operator()(const ProfiledKernel &kernel) const;
  };

  void add(const cupti::KernelRecord &record);
  uint32_t indexOf(const char *name);

  Launches &launches;
  std::mutex mutex;
  std::unordered_map<std::string, uint32_t> names;
  std::vector<KernelTotal> totals; ///< in the order of their first records
  std::unordered_map<ProfiledKernel, size_t, Hash> indices;
  std::vector<KernelRun> runs;
  uint64_t lost = 0;
  bool keepsRuns = false;
};

} // namespace pantile
