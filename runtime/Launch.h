//===- Launch.h - run a kernel over a grid through a given driver -------------------------===//
// Needs: slots made by packArguments, followed by the two scratch pointers.
// Gives: the launch queued on options.stream, or the driver's error.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "pantile/Runtime.h"
#include "runtime/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"
#include <limits>

namespace pantile {

struct LaunchState;

/// Pointers after the kernel's own arguments in the launch ABI; null unless programs are split.
constexpr size_t scratchPointers = 2;

Result<void> launchOnGpu(const Driver &driver, const Kernel &kernel, const Grid &grid,
                         llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<EncodedTensorMap> maps,
                         const LaunchOptions &options);

/// Whether checkGrid is certain to succeed.
inline bool isSurelyValid(const Grid &grid) {
  constexpr uint64_t most = 65536;
  return uint64_t(grid[0]) < most && uint64_t(grid[1]) < most && uint64_t(grid[2]) < most;
}

/// Whether the programs of a launch have numbers of 32 bits, which CTAs that run several need.
inline bool mayRunSeveralPerCta(const Grid &grid) {
  constexpr int64_t mostPrograms = 1 << 30;
  return grid[0] * grid[1] <= mostPrograms && grid[0] * grid[1] * grid[2] <= mostPrograms;
}

/// Whether the driver accepts `ctasPerProgram` times the grid's first extent.
inline bool mayUseClusters(const Grid &grid, int ctasPerProgram) {
  return grid[0] <= std::numeric_limits<int32_t>::max() / ctasPerProgram;
}

/// Whether `stream` is known to belong to `device`: a default stream, or that of the thread's last
/// launch.
bool surelyBelongsTo(uint64_t stream, CUdevice device);

/// How the programs of a launch are mapped to CTAs: one to one if `resident` is 0.
struct CtaPlan {
  int resident = 0;       ///< CTAs that run at once, if a CTA may run several programs
  int packed = 1;         ///< most programs per CTA at the same time; 1: a persistent kernel
  int ctasPerProgram = 1; ///< the CTAs of a cluster, along the first axis
  bool splits = false;    ///< stream-K: all resident CTAs run, also if there are fewer programs
};

/// Calls the driver. `config` is complete but for the grid, with the threads of one program. A
/// persistent kernel gets the extents of the grid as parameters.
CUresult queueLaunch(const Driver &driver, CUlaunchConfig &config, CUfunction function,
                     const Grid &grid, CtaPlan plan, llvm::ArrayRef<uint64_t> slots,
                     llvm::ArrayRef<EncodedTensorMap> maps, LaunchState &state);

} // namespace pantile
