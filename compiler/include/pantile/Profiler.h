//===- Profiler.h - execution times of all kernels of the process, from CUPTI ------------===//
// Needs: NVIDIA's CUPTI of CUDA 11.8 to 13, opened at run time; its headers are not needed.
// Gives: for each kernel that any library launched between `startProfiler` and `stopProfiler`: its
//        name, device and time, and the place in the program that launched it.
// How:   a place is a number that the caller chooses. `setPlace` sets the place of a thread; a
//        kernel is counted at the place of the thread that launched it. Kernels of a graph are
//        counted at the place of the graph's launch; they also have the place of their capture.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include "pantile/Error.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pantile {

/// A kernel at a place; two that differ in one of these are counted separately.
struct ProfiledKernel {
  uint32_t name = 0;                  ///< index into Profile::names
  uint32_t device = 0;                ///< ordinal of the GPU
  uint32_t place = 0;                 ///< number that setPlace gave
  std::optional<uint32_t> capturedAt; ///< place of the capture of a graph's kernel, if known
  bool operator==(const ProfiledKernel &) const = default;
};

/// All executions of one kernel at one place.
struct KernelTotal {
  ProfiledKernel kernel;               ///< which
  uint64_t count = 0, nanoseconds = 0; ///< number of executions, and their total time
};

/// One execution, in nanoseconds of CUPTI's clock.
struct KernelRun {
  ProfiledKernel kernel;                       ///< which
  uint32_t context = 0, stream = 0, graph = 0; ///< graph: 0 outside of graphs
  uint64_t start = 0, end = 0;                 ///< on the GPU, without the launch
};

/// What was measured.
struct Profile {
  std::vector<std::string> names;  ///< mangled, of kernels
  std::vector<KernelTotal> totals; ///< one per kernel and place
  std::vector<KernelRun> runs;     ///< empty unless requested
  uint64_t lost = 0;               ///< records that CUPTI dropped, or that have no times
};

/// Opens the first of `files` that is a CUPTI of a supported version; does nothing once one is
/// open. Returns its version. The Error says for each file why it was not opened.
PANTILE_API Result<uint32_t> openProfiler(std::span<const std::string> files);

/// Starts measuring. With `keepRuns`, `takeProfile` returns each execution, too.
PANTILE_API Result<void> startProfiler(bool keepRuns);

/// Waits for the GPUs and returns what was measured since the last call.
PANTILE_API Result<Profile> takeProfile();

/// Stops measuring; what was measured and not taken is dropped.
PANTILE_API void stopProfiler();

/// Sets the calling thread's place to `place`; nothing: the one of `setSharedPlace`.
PANTILE_API void setPlace(std::optional<uint32_t> place);

/// Sets the place of threads without a place of their own to `place`; 0 at first.
PANTILE_API void setSharedPlace(uint32_t place);

/// Calls `refine` on the launching thread at each launch, with the thread's place; it returns the
/// launch's place. Null switches this off.
PANTILE_API void refinePlaces(uint32_t (*refine)(uint32_t place));

} // namespace pantile
