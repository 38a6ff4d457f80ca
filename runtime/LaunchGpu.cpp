//===- LaunchGpu.cpp - run a kernel over a grid through a given driver ----------------------===//
// Needs: see Launch.h.
// Gives: launchOnGpu.
// How:   cuLaunchKernelEx where the driver has it. A warm launch takes no lock and allocates
//        nothing for up to 32 arguments.
//===------------------------------------------------------------------------------------===//
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "runtime/LostContext.h"
#include "runtime/Module.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>

namespace pantile {
namespace {

/// A CUlaunchAttribute, as the driver's ABI has it.
struct LaunchAttribute {
  enum Id : int { Cooperative = 2, ClusterDimension = 4, ProgrammaticSerialization = 6 };
  int id = 0, padding = 0;
  std::array<int, 16> value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

constexpr std::array<int, 3> noCluster = {1, 1, 1};

llvm::SmallVector<LaunchAttribute, 2> attributesOf(const LaunchOptions &options) {
  llvm::SmallVector<LaunchAttribute, 2> attributes;
  if (options.cooperative)
    attributes.push_back({LaunchAttribute::Cooperative, 0, {1}});
  if (options.programmatic)
    attributes.push_back({LaunchAttribute::ProgrammaticSerialization, 0, {1}});
  if (auto [x, y, z] = options.cluster; options.cluster != noCluster)
    attributes.push_back({LaunchAttribute::ClusterDimension, 0, {x, y, z}});
  return attributes;
}

/// Remembers that the handles of `state` go into a graph, if the stream is being captured. The
/// default stream never is.
void noteCapture(const Driver &driver, uint64_t stream, LaunchState &state) {
  constexpr uint64_t legacyStream = 1;
  int status = 0;
  if (stream > legacyStream && driver.streamIsCapturing &&
      !state.captured.load(std::memory_order_relaxed) &&
      driver.streamIsCapturing(reinterpret_cast<CUstream>(stream), &status) == 0 && status != 0)
    state.captured = true;
}

/// Of a persistent kernel as many blocks as run at once: they take the programs in turn.
Result<Grid> blocksOf(const Driver &driver, const Kernel &kernel, const Grid &grid, CUdevice device,
                      CUfunction function) {
  if (!kernel->persistent)
    return grid;
  Result<int> resident = residentBlocks(driver, kernel, device, function);
  if (!resident)
    return resident.error();
  return Grid{std::min<int64_t>(grid[0] * grid[1] * grid[2], *resident), 1, 1};
}

} // namespace

Result<void> launchOnGpu(const Driver &driver, const Kernel &kernel, const Grid &grid,
                         llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<EncodedTensorMap> maps,
                         const LaunchOptions &options) {
  auto scope = ContextScope::enter(driver, options.device);
  if (!scope)
    return scope.error();
  Result<CUfunction> function = loadedFunction(driver, kernel, scope->device());
  if (!function)
    return function.error();
  llvm::SmallVector<void *, 32> params;
  for (const uint64_t &slot : slots)
    params.push_back(const_cast<uint64_t *>(&slot));
  for (const EncodedTensorMap &map : maps)
    params.push_back(const_cast<EncodedTensorMap *>(&map));
  std::array<int32_t, 3> userGrid{};
  llvm::copy(grid, userGrid.begin());
  if (kernel->persistent)
    for (int32_t &extent : userGrid)
      params.push_back(&extent);
  Result<Grid> blocks = blocksOf(driver, kernel, grid, scope->device(), *function);
  if (!blocks)
    return blocks.error();
  llvm::SmallVector<LaunchAttribute, 2> attributes = attributesOf(options);
  if (!attributes.empty() && !driver.launchKernelEx)
    return makeError(ErrorKind::Driver,
                     "cooperative and cluster launches need a newer CUDA driver");
  noteCapture(driver, options.stream, *kernel->launchState);
  noteLaunch(kernel->launchState->name);
  CUlaunchConfig config = {unsigned((*blocks)[0]),
                           unsigned((*blocks)[1]),
                           unsigned((*blocks)[2]),
                           32u * kernel->numWarps,
                           1,
                           1,
                           unsigned(kernel->sharedBytes),
                           reinterpret_cast<CUstream>(options.stream),
                           attributes.data(),
                           unsigned(attributes.size())};
  CUresult result =
      driver.launchKernelEx
          ? driver.launchKernelEx(&config, *function, params.data(), nullptr)
          : driver.launchKernel(*function, config.gridX, config.gridY, config.gridZ, config.blockX,
                                1, 1, config.sharedBytes, config.stream, params.data(), nullptr);
  if (result) [[unlikely]]
    return failureOf(driver, result,
                     fmt::format("launching kernel `{}` over a grid of {}x{}x{}", kernel->name,
                                 grid[0], grid[1], grid[2]));
  return {};
}

} // namespace pantile
