//===- Records.cpp - the sums and runs of kernels, from CUPTI's records --------------------===//
// Needs: see Records.h.
// Gives: Records.
// How:   a record without times counts as lost, like those that CUPTI drops: neither its time nor
//        its count is added, so that averages are over measured executions.
//===------------------------------------------------------------------------------------===//
#include "runtime/profiler/Records.h"
#include <cstring>

namespace pantile {

size_t Records::Hash::operator()(const ProfiledKernel &kernel) const {
  const uint64_t captured = kernel.capturedAt ? uint64_t(*kernel.capturedAt) + 1 : 0;
  const uint64_t high = uint64_t(kernel.name) << 32 | kernel.place;
  return std::hash<uint64_t>()(high * 0x9e3779b97f4a7c15 + (captured << 8) + kernel.device);
}

void Records::read(const Cupti &cupti, uint8_t *buffer, size_t bytes) {
  const std::lock_guard lock(mutex);
  void *record = nullptr;
  while (cupti.activityGetNextRecord(buffer, bytes, &record) == cupti::success) {
    uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    if (kind == cupti::kernelKind || kind == cupti::concurrentKernelKind)
      add(*static_cast<const cupti::KernelRecord *>(record));
  }
}

void Records::add(const cupti::KernelRecord &record) {
  ProfiledKernel kernel;
  kernel.place = launches.placeOf(record.correlation);
  if (!record.start || record.end < record.start) {
    ++lost;
    return;
  }
  kernel.name = indexOf(record.name ? record.name : "");
  kernel.device = record.device;
  if (record.graphNode)
    kernel.capturedAt = launches.captureOf(record.graphNode);
  const size_t index = indices.try_emplace(kernel, totals.size()).first->second;
  if (index == totals.size())
    totals.push_back({kernel});
  KernelTotal &total = totals[index];
  ++total.count;
  total.nanoseconds += record.end - record.start;
  if (keepsRuns)
    runs.push_back({kernel, record.context, record.stream, record.graph, record.start, record.end});
}

uint32_t Records::indexOf(const char *name) {
  return names.try_emplace(name, uint32_t(names.size())).first->second;
}

void Records::addLost(uint64_t count) {
  const std::lock_guard lock(mutex);
  lost += count;
}

void Records::keepRuns(bool keep) {
  const std::lock_guard lock(mutex);
  keepsRuns = keep;
}

Profile Records::take() {
  const std::lock_guard lock(mutex);
  Profile profile;
  profile.names.resize(names.size());
  for (const auto &[name, index] : names)
    profile.names[index] = name;
  profile.totals = std::move(totals);
  profile.runs = std::move(runs);
  profile.lost = lost;
  names.clear(), indices.clear(), totals.clear(), runs.clear(), lost = 0;
  return profile;
}

} // namespace pantile
