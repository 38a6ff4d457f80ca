//===- Profiler.h - execution times of all kernels of the process, from CUPTI ------------===//
// Needs: NVIDIA's CUPTI of CUDA 11.8 to 13, opened at run time. No header of it.
// Gives: for each kernel that any library launched between `startProfiler` and `stopProfiler`: its
//        name, device and time, and the place in the program that launched it.
// How:   a place is a number of the caller's. `setPlace` says at which place a thread is; a kernel
//        belongs to the place at which the launching thread was. A graph's kernels belong to the
//        place of the graph's launch, and also tell where they were captured.
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

/// A kernel at a place; two that differ in one of these are counted apart.
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
  uint64_t count = 0, nanoseconds = 0; ///< executions, and their sum
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
  std::vector<KernelTotal> totals; ///< one a kernel and place
  std::vector<KernelRun> runs;     ///< empty unless asked for
  uint64_t lost = 0;               ///< records that CUPTI dropped, or that have no times
};

/// Opens the first of `files` that is a CUPTI of a known version; does nothing once one is open.
/// Gives its version. The error says of each file why it was not taken.
PANTILE_API Result<uint32_t> openProfiler(std::span<const std::string> files);

/// Has CUPTI measure from now on. `keepRuns`: `takeProfile` gives each execution too.
PANTILE_API Result<void> startProfiler(bool keepRuns);

/// Waits for the GPUs and gives what was measured since the last call.
PANTILE_API Result<Profile> takeProfile();

/// Ends the measurement; what was measured and not taken is dropped.
PANTILE_API void stopProfiler();

/// The calling thread is at `place` from now on; without one it is where `setSharedPlace` says.
PANTILE_API void setPlace(std::optional<uint32_t> place);

/// Threads that are at no place of their own are at `place`; 0 at first.
PANTILE_API void setSharedPlace(uint32_t place);

/// `refine` is called on the launching thread at each launch: its result is the launch's place. Null
/// ends that.
PANTILE_API void refinePlaces(uint32_t (*refine)(uint32_t place));

} // namespace pantile
