//===- Launch.h - run a kernel over a grid through a given driver -------------------------===//
// Needs: slots made by packArguments, the two scratch pointers behind them.
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

/// Null pointers behind the kernel's own arguments, which the plain ABI has.
constexpr size_t scratchPointers = 2;

Result<void> launchOnGpu(const Driver &driver, const Kernel &kernel, const Grid &grid,
                         llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<EncodedTensorMap> maps,
                         const LaunchOptions &options);

/// Whether checkGrid would surely have nothing to say.
inline bool isUsual(const Grid &grid) {
  constexpr uint64_t most = 65536;
  return uint64_t(grid[0]) < most && uint64_t(grid[1]) < most && uint64_t(grid[2]) < most;
}

/// Whether blocks may run several programs of a launch of this size: each takes its number in 32
/// bits.
inline bool mayShareBlocks(const Grid &grid) {
  constexpr int64_t mostPrograms = 1 << 30;
  return grid[0] * grid[1] <= mostPrograms && grid[0] * grid[1] * grid[2] <= mostPrograms;
}

/// Whether the driver takes so many times the blocks along the first axis.
inline bool maySpread(const Grid &grid, int ctasPerProgram) {
  return grid[0] <= std::numeric_limits<int32_t>::max() / ctasPerProgram;
}

/// Whether a stream belongs to `device` for sure: a default one, or that of the thread's last launch.
bool isSurelyOf(uint64_t stream, CUdevice device);

/// How the blocks of a launch follow from its programs. They are one to one if `resident` is 0.
struct BlockPlan {
  int resident = 0; ///< blocks that run at once, if of more programs a block runs several
  int packed = 1; ///< so many side by side at most; 1: one after the other, in a persistent kernel
  int together = 1;    ///< blocks that run one program, neighbours along the first axis
  bool splits = false; ///< all resident blocks share even fewer programs
};

/// The driver's call: of `config` all but the grid is set, and the block is one program's. Blocks
/// of a persistent kernel are passed the grid.
CUresult queueLaunch(const Driver &driver, CUlaunchConfig &config, CUfunction function,
                     const Grid &grid, BlockPlan plan, llvm::ArrayRef<uint64_t> slots,
                     llvm::ArrayRef<EncodedTensorMap> maps, LaunchState &state);

} // namespace pantile
