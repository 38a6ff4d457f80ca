//===- StreamKChoice.cpp - whether a launch splits its tiles over CTAs --------------------===//
// Needs: see StreamKChoice.h.
// Gives: tileCountOf, choosesStreamK.
//===------------------------------------------------------------------------------------===//
#include "runtime/StreamKChoice.h"
#include "cuda/Device.h"
#include "support/Target.h"

namespace pantile {
namespace {

/// One number per TileCount and device; 0 where there is no choice.
uint64_t keyOf(TileCount count, CUdevice device) {
  static_assert(mostSplitIterations <= 1 << 20 && LaunchState::maxDevices <= 64);
  if (count.iterations < 1 || count.iterations >= mostSplitIterations ||
      count.programs >= int64_t(1) << 31 || unsigned(device) >= LaunchState::maxDevices)
    return 0;
  return uint64_t(device) << 51 | uint64_t(count.programs) << 20 | uint64_t(count.iterations);
}

/// Where the choice for `key` is kept: the key, and in its lowest bit the choice.
std::atomic<uint64_t> &placeOf(LaunchState &state, uint64_t key) {
  return state.streamKChoices[key * 0x9e3779b97f4a7c15u >> 60];
}

/// The choice on the device of the current context; none where that cannot be queried.
std::optional<bool> makeChoice(const Driver &driver, const Kernel &kernel, CUdevice device,
                               TileCount count) {
  int sms = 0;
  const auto target = Target::parse(kernel->options.target);
  Result<CUfunction> function = loadedFunction(driver, kernel, device);
  if (!target || !function || querySms(driver, device, sms) != 0 || sms < 1)
    return std::nullopt;
  Result<int> ctas = residentCtas(driver, kernel, device, *function);
  if (!ctas)
    return std::nullopt;
  const MemoryThresholds &costs = target->machine().memory;
  return streamKSpeedup(*kernel->streamK, costs, count, *ctas, sms) >= costs.leastStreamKSpeedup;
}

} // namespace

TileCount tileCountOf(const Kernel &kernel, llvm::ArrayRef<uint64_t> slots, const Grid &grid) {
  const auto dividend = valueOf(kernel->streamK->dividend, slots, grid);
  return {grid[0] * grid[1] * grid[2], dividend ? *dividend / kernel->streamK->divisor : 0};
}

bool choosesStreamK(const Driver &driver, const Kernel &kernel, int device, TileCount count) {
  LaunchState &state = launchStateOf(*kernel);
  std::optional<ContextScope> entered;
  if (!isSurelyCurrent(driver, device)) {
    auto scope = ContextScope::enter(driver, device);
    if (!scope)
      return false;
    device = scope->device();
    entered.emplace(std::move(*scope));
  }
  const uint64_t key = keyOf(count, device);
  if (key == 0 || state.lacksStreamK.load(std::memory_order_relaxed))
    return false;
  std::atomic<uint64_t> &place = placeOf(state, key);
  if (const uint64_t last = place.load(std::memory_order_relaxed); last >> 1 == key)
    return last & 1;
  const std::optional<bool> choice = makeChoice(driver, kernel, device, count);
  if (choice)
    place.store(key << 1 | uint64_t(*choice), std::memory_order_relaxed);
  return choice.value_or(false);
}

} // namespace pantile
