//===- StreamKChoice.cpp - whether a launch splits its tiles over CTAs --------------------===//
// Needs: see StreamKChoice.h.
// Gives: tileCountOf, choosesStreamK.
//===------------------------------------------------------------------------------------===//
#include "runtime/StreamKChoice.h"
#include "cuda/Device.h"
#include "support/Target.h"

namespace pantile {
namespace {

constexpr int multiprocessorCount = 16; // CUdevice_attribute

/// One number per TileCount; 0 where there is no choice.
uint64_t keyOf(TileCount count) {
  constexpr int64_t most = int64_t(1) << 31;
  if (count.iterations < 1 || count.iterations >= most || count.programs >= most)
    return 0;
  return uint64_t(count.programs) << 31 | uint64_t(count.iterations);
}

/// The choice for such a launch on `device`, if the last one there was such a launch.
std::optional<bool> lastChoice(const LaunchState &state, CUdevice device, TileCount count) {
  const uint64_t key = keyOf(count);
  if (key == 0)
    return false;
  if (unsigned(device) >= LaunchState::maxDevices)
    return std::nullopt;
  const uint64_t last = state.streamKChoices[device].load(std::memory_order_relaxed);
  return last >> 1 == key ? std::optional<bool>(last & 1) : std::nullopt;
}

/// On a GPU.
struct Occupancy {
  CUdevice device = 0;
  int ctas = 0, sms = 0;
};

std::optional<Occupancy> occupancyOn(const Driver &driver, const Kernel &kernel, int device) {
  auto scope = ContextScope::enter(driver, device);
  if (!scope)
    return std::nullopt;
  Occupancy found{scope->device()};
  Result<CUfunction> function = loadedFunction(driver, kernel, found.device);
  if (!function || driver.deviceGetAttribute(&found.sms, multiprocessorCount, found.device) != 0 ||
      found.sms < 1)
    return std::nullopt;
  Result<int> resident = residentCtas(driver, kernel, found.device, *function);
  if (!resident)
    return std::nullopt;
  found.ctas = *resident;
  return found;
}

} // namespace

TileCount tileCountOf(const Kernel &kernel, llvm::ArrayRef<uint64_t> slots, const Grid &grid) {
  const auto dividend = valueOf(kernel->streamK->dividend, slots, grid);
  return {grid[0] * grid[1] * grid[2], dividend ? *dividend / kernel->streamK->divisor : 0};
}

bool choosesStreamK(const Driver &driver, const Kernel &kernel, int device, TileCount count) {
  LaunchState &state = launchStateOf(*kernel);
  if (auto known = lastChoice(state, device, count))
    return *known;
  const auto found = occupancyOn(driver, kernel, device);
  const auto target = Target::parse(kernel->options.target);
  if (!found || !target)
    return false;
  const MemoryThresholds &costs = target->machine().memory;
  const bool isBetter = streamKSpeedup(*kernel->streamK, costs, count, found->ctas, found->sms) >=
                        costs.leastStreamKSpeedup;
  state.streamKChoices[found->device].store(keyOf(count) << 1 | uint64_t(isBetter),
                                            std::memory_order_relaxed);
  return isBetter;
}

} // namespace pantile
