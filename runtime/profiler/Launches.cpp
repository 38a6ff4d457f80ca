//===- Launches.cpp - the place of the program at which each launch was made ---------------===//
// Needs: see Launches.h.
// Gives: Launches.
//===------------------------------------------------------------------------------------===//
#include "runtime/profiler/Launches.h"
#include <atomic>

namespace pantile {
namespace {

std::atomic<uint32_t> sharedPlace = 0;
std::atomic<uint64_t> currentProfile = 0;
std::atomic<Launches::Refine> refinement = nullptr;

struct ThreadState {
  std::optional<uint32_t> place;
  uint64_t profile = 0;       ///< the profile that the following members belong to
  int depth = 0;              ///< of nested launch calls
  uint32_t outer = 0, at = 0; ///< the outermost one's id and place
};
thread_local ThreadState state;

uint32_t currentPlace() {
  const uint32_t place = state.place.value_or(sharedPlace.load(std::memory_order_relaxed));
  const Launches::Refine refine = refinement.load(std::memory_order_acquire);
  return refine ? refine(place) : place;
}

} // namespace

void Launches::setPlace(std::optional<uint32_t> place) { state.place = place; }
void Launches::setSharedPlace(uint32_t place) { sharedPlace = place; }
void Launches::refineBy(Refine refine) { refinement = refine; }

void Launches::begin() {
  ++currentProfile;
  const std::lock_guard lock(mutex);
  open.clear();
}

void Launches::enter(uint32_t correlation, bool hasMany) {
  const uint64_t profile = currentProfile.load(std::memory_order_relaxed);
  if (state.profile != profile)
    state.profile = profile, state.depth = 0;
  if (state.depth++ == 0)
    state.outer = correlation, state.at = currentPlace();
  const std::lock_guard lock(mutex);
  last = correlation;
  open.insert(state.outer);
  if (launches.size() >= mostLaunches)
    std::erase_if(launches, [&](const auto &entry) {
      return correlation - entry.first > mostLaunches / 2; // modulo 2^32
    });
  launches.insert_or_assign(correlation, Launch{state.at, state.outer, hasMany});
  if (correlation == state.outer)
    return;
  if (const auto outer = launches.find(state.outer); outer != launches.end())
    outer->second.twin = correlation;
}

void Launches::leave() {
  if (state.depth == 0 || --state.depth > 0)
    return;
  const std::lock_guard lock(mutex);
  open.erase(state.outer);
}

uint32_t Launches::endedUpTo() {
  const std::lock_guard lock(mutex);
  return open.empty() ? last : *open.begin() - 1;
}

uint32_t Launches::placeOf(uint32_t correlation) {
  const std::lock_guard lock(mutex);
  const auto found = launches.find(correlation);
  if (found == launches.end())
    return 0;
  const Launch launch = found->second;
  if (!launch.hasMany) {
    launches.erase(found);
    launches.erase(launch.twin);
  }
  return launch.place;
}

void Launches::addNode(uint64_t node) {
  const bool isInLaunch = state.depth && state.profile == currentProfile;
  const uint32_t place = isInLaunch ? state.at : currentPlace();
  const std::lock_guard lock(mutex);
  nodes.insert_or_assign(node, place);
}

void Launches::copyNode(uint64_t original, uint64_t node) {
  const std::lock_guard lock(mutex);
  if (const auto found = nodes.find(original); found != nodes.end())
    nodes.insert_or_assign(node, uint32_t(found->second));
}

std::optional<uint32_t> Launches::captureOf(uint64_t node) {
  const std::lock_guard lock(mutex);
  const auto found = nodes.find(node);
  return found == nodes.end() ? std::nullopt : std::optional(found->second);
}

size_t Launches::size() {
  const std::lock_guard lock(mutex);
  return launches.size();
}

void Launches::forget(uint32_t correlation) {
  const std::lock_guard lock(mutex);
  std::erase_if(launches, [&](const auto &entry) { return entry.first <= correlation; });
}

} // namespace pantile
