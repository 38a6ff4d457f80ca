//===- ReadyLaunch.cpp - launches of one kernel without the checks of `launch` --------------===//
// Needs: see pantile/ReadyLaunch.h.
// Gives: ReadyLaunch.
// How:   what a launch reads is contiguous, so that it touches few cache lines of the host: the
//        driver's own call leaves most of them cold.
//===------------------------------------------------------------------------------------===//
#include "pantile/ReadyLaunch.h"
#include "cuda/Device.h"
#include "runtime/Launch.h"
#include "runtime/Module.h"
#include "runtime/StreamKChoice.h"

namespace pantile {
namespace {

bool hasOnlyGrid(const LaunchOptions &options) {
  return !options.cooperative && !options.programmatic && options.cluster == std::array{1, 1, 1};
}

} // namespace

std::unique_ptr<const ReadyLaunch> ReadyLaunch::of(const Kernel &kernel,
                                                   const LaunchOptions &options) {
  const auto &driver = Driver::shared();
  LaunchState &state = launchStateOf(*kernel);
  const CUfunction function = knownFunction(kernel, options.device);
  if (!driver || !(*driver)->launchKernelEx || !function || !hasOnlyGrid(options) ||
      !state.planned.load(std::memory_order_acquire) || kernel->workspacePerCta != 0 ||
      state.plan.size() + scratchPointers > mostSlots)
    return nullptr;
  const int resident = state.resident[options.device].load(std::memory_order_relaxed);
  const bool runsSeveral = kernel->persistent || kernel->programsPerCta > 1;
  if (runsSeveral && resident == 0)
    return nullptr;
  std::unique_ptr<ReadyLaunch> ready(new ReadyLaunch());
  ready->kernel = kernel, ready->state = &state;
  ready->driver = driver->get(), ready->function = function;
  ready->device = options.device;
  ready->resident = runsSeveral ? resident : 0, ready->packed = kernel->programsPerCta;
  ready->together = kernel->ctasPerProgram;
  ready->slotCount = state.plan.size(), ready->threads = 32u * kernel->numWarps;
  ready->sharedBytes = kernel->sharedBytes, ready->hasMaps = !kernel->tensorMaps.empty();
  ready->mayChooseStreamK = kernel->streamK.has_value();
  return ready;
}

bool ReadyLaunch::operator()(const Grid &grid, uint64_t *slots, uint64_t stream) const {
  if (!isSurelyValid(grid) || (resident && !mayRunSeveralPerCta(grid)) ||
      (together > 1 && !mayUseClusters(grid, together)) || Driver::isForked() ||
      !isSurelyCurrent(*driver, device) || !surelyBelongsTo(stream, device)) [[unlikely]]
    return false;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return true;
  if (mayChooseStreamK &&
      choosesStreamK(*driver, kernel, device, tileCountOf(kernel, {slots, slotCount}, grid)))
      [[unlikely]]
    return false;
  EncodedTensorMaps maps;
  if (hasMaps && !encodeTensorMaps(*driver, kernel->tensorMaps, state->maps, {slots, slotCount},
                                   grid, maps)) [[unlikely]]
    return false;
  for (size_t i = 0; i < scratchPointers; ++i)
    slots[slotCount + i] = 0;
  CUlaunchConfig config = {};
  config.blockX = threads, config.blockY = config.blockZ = 1;
  config.sharedBytes = sharedBytes, config.stream = reinterpret_cast<CUstream>(stream);
  return queueLaunch(*driver, config, static_cast<CUfunction>(function), grid,
                     {resident, packed, together}, {slots, slotCount + scratchPointers}, maps,
                     *state) == 0;
}

} // namespace pantile
