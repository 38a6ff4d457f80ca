//===- LaunchGpu.cpp - run a kernel over a grid through a given driver ----------------------===//
// Needs: see Launch.h.
// Gives: launchOnGpu.
// How:   cuLaunchKernelEx where the driver has it. A warm launch takes no lock and allocates
//        nothing for up to 32 arguments.
//===------------------------------------------------------------------------------------===//
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "runtime/Module.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>

namespace pantile {
namespace {

/// A CUlaunchAttribute, as the driver's ABI has it.
struct LaunchAttribute {
  enum Id : int { Cooperative = 2, ProgrammaticSerialization = 6 };
  int id = 0, padding = 0;
  int value = 0;
  char rest[60] = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

llvm::SmallVector<LaunchAttribute, 2> attributesOf(const LaunchOptions &options) {
  llvm::SmallVector<LaunchAttribute, 2> attributes;
  if (options.cooperative)
    attributes.push_back({LaunchAttribute::Cooperative, 0, 1});
  if (options.programmatic)
    attributes.push_back({LaunchAttribute::ProgrammaticSerialization, 0, 1});
  return attributes;
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
    return makeError(ErrorKind::Driver, "cooperative launches need a newer CUDA driver");
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
    return driver.error(result, fmt::format("launching kernel `{}` over a grid of {}x{}x{}",
                                            kernel->name, grid[0], grid[1], grid[2]));
  return {};
}

} // namespace pantile
