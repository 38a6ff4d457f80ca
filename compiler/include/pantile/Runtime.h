//===- Runtime.h - devices, launches, the cache -----------------------------------------===//
// A kernel compiled for "cpu" runs on the interpreter over a thread pool; one compiled for
// "sm_*" runs through the CUDA driver, which is opened when first needed.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

namespace pantile {

/// One run-time argument, in the order of the parameters that are not constants. A pointer into
/// host memory brings the bounds of its storage, [begin, end), which the CPU checks every access
/// against (both 0: unknown, unchecked).
struct LaunchArg {
  enum class Kind { Pointer, Int, Float } kind = Kind::Int; ///< which of the values counts
  bool isReadOnly = false;     ///< host memory: stores through this pointer are errors
  uint64_t pointer = 0;        ///< an address
  uint64_t begin = 0, end = 0; ///< of host memory around it
  int64_t integer = 0;         ///< of Kind::Int
  double real = 0;             ///< of Kind::Float
  /// The address `p`, in host memory from `begin` up to `end`, or in any if both are 0.
  static LaunchArg ptr(const void *p, uint64_t begin = 0, uint64_t end = 0) {
    LaunchArg a;
    a.kind = Kind::Pointer, a.pointer = reinterpret_cast<uint64_t>(p), a.begin = begin, a.end = end;
    return a;
  }
  /// Device memory at `address`.
  static LaunchArg device(uint64_t address) {
    LaunchArg a;
    a.kind = Kind::Pointer, a.pointer = address;
    return a;
  }
  /// Host memory with the bounds of `values`; of constants it is only read.
  template <typename T> static LaunchArg host(std::span<T> values) {
    auto begin = reinterpret_cast<uint64_t>(values.data());
    LaunchArg a = ptr(values.data(), begin, begin + values.size_bytes());
    a.isReadOnly = std::is_const_v<T>;
    return a;
  }
  /// The integer `v`.
  static LaunchArg i(int64_t v) {
    LaunchArg a;
    a.kind = Kind::Int, a.integer = v;
    return a;
  }
  /// The float `v`.
  static LaunchArg f(double v) {
    LaunchArg a;
    a.kind = Kind::Float, a.real = v;
    return a;
  }
};

/// The arguments of a launch from `values`: numbers and LaunchArgs (pointers must say what they are).
template <typename... T> std::vector<LaunchArg> launchArgs(const T &...values) {
  auto one = [](const auto &value) {
    using V = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<V, LaunchArg>)
      return value;
    else if constexpr (std::is_floating_point_v<V>)
      return LaunchArg::f(value);
    else {
      static_assert(std::is_integral_v<V>, "a number or a LaunchArg");
      return LaunchArg::i(static_cast<int64_t>(value));
    }
  };
  return {one(values)...};
}

/// Where and how a kernel is launched.
struct LaunchOptions {
  uint64_t stream = 0;       ///< CUstream; 0: the default stream
  int device = -1;           ///< GPU ordinal; -1: the current context's, else 0
  bool cooperative = false;  ///< all blocks run at once, or the launch fails
  bool programmatic = false; ///< may start before the kernel ahead of it in the stream has ended
  std::array<int, 3> cluster = {1, 1, 1}; ///< blocks that share a cluster; the grid is a multiple
  int workers = 0; ///< CPU threads; 0: PANTILE_NUM_THREADS, else all cores; 1: deterministic order
};

/// Programs along three axes.
using Grid = std::array<int64_t, 3>;

/// Runs `kernel` over `grid` with `args`, one a parameter that takes some, as `options` say. On the GPU the call returns when the launch is queued, on the CPU
/// when it is done. A grid with a zero launches nothing. Errors of kind Launch for arguments that do not
/// fit, Resources and Driver of the GPU.
PANTILE_API Result<void> launch(const Kernel &kernel, Grid grid, std::span<const LaunchArg> args,
                                const LaunchOptions &options = {});
/// The same for `kernel`, `grid`, `args` and `options`, with the arguments in braces.
inline Result<void> launch(const Kernel &kernel, Grid grid, std::initializer_list<LaunchArg> args,
                           const LaunchOptions &options = {}) {
  return launch(kernel, grid, std::span(args.begin(), args.size()), options);
}

/// The driver's handles of a kernel's code on a GPU, in its primary context.
struct CodeHandles {
  uint64_t module = 0;   ///< CUmodule; its variables are those that launches see
  uint64_t function = 0; ///< CUfunction
};
/// The handles of what launches of `kernel` on `device` run (-1: the current context's GPU, else 0),
/// which is loaded if no launch has done so, and stays loaded. A driver before CUDA 12 gives them to
/// the context that is current at the first launch.
PANTILE_API Result<CodeHandles> codeHandles(const Kernel &kernel, int device = -1);

/// What a GPU has.
struct DeviceInfo {
  std::string name;   ///< as NVIDIA calls it
  std::string target; ///< "sm_90a"
  int multiprocessors = 0, maxSharedBytes = 0, warpSize = 32, maxRegisters = 0; ///< per CTA
  int clockKHz = 0, memoryClockKHz = 0, memoryBusBits = 0; ///< highest clocks; width of the bus
  int64_t l2Bytes = 0;                                     ///< of the second-level cache
};
/// 0 where there is no driver or no GPU.
PANTILE_API int deviceCount();
/// What the GPU with the ordinal `device` has; an Error of kind Driver where there is none.
PANTILE_API Result<DeviceInfo> deviceInfo(int device);
/// Waits for all work of the GPU `device`.
PANTILE_API Result<void> synchronize(int device);
/// Waits for all work of the GPU `device` (-1: the current one) and frees the memory in which blocks that share a program hand
/// over parts of sums, but that of graphs which still exist. Returns the bytes. Not while one of the
/// device's streams is captured. Later launches take memory again.
PANTILE_API Result<uint64_t> releaseWorkspaces(int device = -1);

/// Allocates `bytes` of memory of the GPU `device`, for applications without a library of their own;
/// returns the address.
PANTILE_API Result<uint64_t> deviceAlloc(size_t bytes, int device = 0);
/// Frees what deviceAlloc gave as `pointer`.
PANTILE_API void deviceFree(uint64_t pointer);
/// Copies `bytes` from the host's `src` to the device address `dst`; done on return.
PANTILE_API Result<void> copyToDevice(uint64_t dst, const void *src, size_t bytes);
/// Copies `bytes` from the device address `src` to the host's `dst`; done on return.
PANTILE_API Result<void> copyFromDevice(void *dst, uint64_t src, size_t bytes);

/// Makes a stream of the GPU `device`, a CUstream, for applications without a library of their own.
PANTILE_API Result<uint64_t> newStream(int device = 0);
/// Destroys `stream`, which newStream gave.
PANTILE_API void freeStream(uint64_t stream);
/// Whether what is put into `stream` becomes part of a graph.
PANTILE_API bool isCapturing(uint64_t stream);
/// The GPU that `stream` belongs to; -1 where the driver does not say.
PANTILE_API int deviceOfStream(uint64_t stream);
/// Waits for the work that was put into `stream`.
PANTILE_API Result<void> synchronizeStream(uint64_t stream);

/// Where compiled kernels are kept: PANTILE_CACHE_DIR, else ~/.cache/pantile.
PANTILE_API std::string cacheDirectory();

/// Warnings of the CPU's access checks since the last call, rendered, each source line once.
PANTILE_API std::string takeWarnings();

} // namespace pantile
