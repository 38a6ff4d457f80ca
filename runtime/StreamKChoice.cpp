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
std::optional<bool> lastChoice(const LaunchState &state, CUdevice device, uint64_t key) {
  if (unsigned(device) >= LaunchState::maxDevices)
    return std::nullopt;
  const uint64_t last = state.streamKChoices[device].load(std::memory_order_relaxed);
  return last >> 1 == key ? std::optional<bool>(last & 1) : std::nullopt;
}

/// The choice on the device of the current context; none where that cannot be queried.
std::optional<bool> makeChoice(const Driver &driver, const Kernel &kernel, CUdevice device,
                               TileCount count) {
  int sms = 0;
  const auto target = Target::parse(kernel->options.target);
  Result<CUfunction> function = loadedFunction(driver, kernel, device);
  if (!target || !function || driver.deviceGetAttribute(&sms, multiprocessorCount, device) != 0 ||
      sms < 1)
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
  const uint64_t key = keyOf(count);
  if (key == 0 || state.lacksStreamK.load(std::memory_order_relaxed))
    return false;
  if (auto known = lastChoice(state, device, key))
    return *known;
  auto scope = ContextScope::enter(driver, device);
  if (!scope)
    return false;
  if (auto known = lastChoice(state, scope->device(), key))
    return *known;
  const std::optional<bool> choice = makeChoice(driver, kernel, scope->device(), count);
  if (choice)
    state.streamKChoices[scope->device()].store(key << 1 | uint64_t(*choice),
                                                std::memory_order_relaxed);
  return choice.value_or(false);
}

} // namespace pantile
