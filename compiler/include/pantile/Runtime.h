//===- Runtime.h - devices, launches, the cache -----------------------------------------===//
// A kernel compiled for "cpu" runs in the interpreter on a thread pool; one compiled for "sm_*" is
// launched through the CUDA driver, which is opened when first needed.
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
/// host memory has the bounds of its storage, [begin, end): the interpreter checks every access
/// against them (both 0: unknown, unchecked).
struct LaunchArg {
  enum class Kind { Pointer, Int, Float } kind = Kind::Int; ///< which of the values is used
  bool isReadOnly = false;     ///< host memory: stores through this pointer are errors
  uint64_t pointer = 0;        ///< an address
  uint64_t begin = 0, end = 0; ///< bounds of the host memory that it points into
  int64_t integer = 0;         ///< of Kind::Int
  double real = 0;             ///< of Kind::Float
  /// Makes the address `p`, in host memory from `begin` up to `end`, or in any if both are 0.
  static LaunchArg ptr(const void *p, uint64_t begin = 0, uint64_t end = 0) {
    LaunchArg a;
    a.kind = Kind::Pointer, a.pointer = reinterpret_cast<uint64_t>(p), a.begin = begin, a.end = end;
    return a;
  }
  /// Makes a pointer to device memory at `address`.
  static LaunchArg device(uint64_t address) {
    LaunchArg a;
    a.kind = Kind::Pointer, a.pointer = address;
    return a;
  }
  /// Makes a pointer to the host memory of `values`; read-only if `T` is const.
  template <typename T> static LaunchArg host(std::span<T> values) {
    auto begin = reinterpret_cast<uint64_t>(values.data());
    LaunchArg a = ptr(values.data(), begin, begin + values.size_bytes());
    a.isReadOnly = std::is_const_v<T>;
    return a;
  }
  /// Makes the integer `v`.
  static LaunchArg i(int64_t v) {
    LaunchArg a;
    a.kind = Kind::Int, a.integer = v;
    return a;
  }
  /// Makes the float `v`.
  static LaunchArg f(double v) {
    LaunchArg a;
    a.kind = Kind::Float, a.real = v;
    return a;
  }
};

/// Makes the arguments of a launch from `values`: numbers and LaunchArgs (a pointer has to be a
/// LaunchArg).
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
  bool cooperative = false;  ///< all CTAs run at once, or the launch fails
  bool programmatic = false; ///< may start before the previous kernel in the stream has ended
  std::array<int, 3> cluster = {1, 1, 1}; ///< CTAs per cluster; the grid is a multiple of it
  int workers = 0; ///< CPU threads; 0: PANTILE_NUM_THREADS, else all cores; 1: deterministic order
};

/// Number of programs along each of three axes.
using Grid = std::array<int64_t, 3>;

/// Launches `kernel` over `grid` with `args`, one per parameter that is not a constant, as
/// `options` say. On the GPU the call returns when the launch is queued, on the CPU when the kernel
/// has run. A grid with a zero launches nothing. Errors of kind Launch for arguments that do not
/// fit, of kind Resources and Driver from the GPU.
PANTILE_API Result<void> launch(const Kernel &kernel, Grid grid, std::span<const LaunchArg> args,
                                const LaunchOptions &options = {});
/// Does the same for `kernel`, `grid`, `args` and `options`, with the arguments in braces.
inline Result<void> launch(const Kernel &kernel, Grid grid, std::initializer_list<LaunchArg> args,
                           const LaunchOptions &options = {}) {
  return launch(kernel, grid, std::span(args.begin(), args.size()), options);
}

/// The driver's handles of a kernel's code on a GPU, in its primary context.
struct CodeHandles {
  uint64_t module = 0;   ///< CUmodule; its variables are those that launches use
  uint64_t function = 0; ///< CUfunction
};
/// Returns the handles of the code that launches of `kernel` on `device` run (-1: the current
/// context's GPU, else 0). Loads it if no launch has done so; it stays loaded. With a driver before
/// CUDA 12 they belong to the context that is current at the first launch.
PANTILE_API Result<CodeHandles> codeHandles(const Kernel &kernel, int device = -1);

/// Properties of a GPU.
struct DeviceInfo {
  std::string name;   ///< NVIDIA's name of it
  std::string target; ///< "sm_90a"
  int multiprocessors = 0, maxSharedBytes = 0, warpSize = 32, maxRegisters = 0; ///< per CTA
  int clockKHz = 0, memoryClockKHz = 0, memoryBusBits = 0; ///< highest clocks; width of the bus
  int64_t l2Bytes = 0;                                     ///< of the second-level cache
};
/// Returns the number of GPUs; 0 if there is no driver.
PANTILE_API int deviceCount();
/// Returns the properties of the GPU with the ordinal `device`; an Error of kind Driver if there is
/// none.
PANTILE_API Result<DeviceInfo> deviceInfo(int device);
/// Waits for all work of the GPU `device`.
PANTILE_API Result<void> synchronize(int device);
/// Waits for all work of the GPU `device` (-1: the current one) and frees the workspaces in which
/// stream-K kernels exchange partial tiles, except those of graphs that still exist. Returns the
/// bytes that were freed. Must not be called while one of the device's streams is captured. Later
/// launches allocate workspaces again.
PANTILE_API Result<uint64_t> releaseWorkspaces(int device = -1);

/// Allocates `bytes` of memory of the GPU `device`, for applications without a library of their
/// own; returns the address.
PANTILE_API Result<uint64_t> deviceAlloc(size_t bytes, int device = 0);
/// Frees the memory that deviceAlloc returned as `pointer`.
PANTILE_API void deviceFree(uint64_t pointer);
/// Copies `bytes` from the host's `src` to the device address `dst`; returns when it is done.
PANTILE_API Result<void> copyToDevice(uint64_t dst, const void *src, size_t bytes);
/// Copies `bytes` from the device address `src` to the host's `dst`; returns when it is done.
PANTILE_API Result<void> copyFromDevice(void *dst, uint64_t src, size_t bytes);

/// Makes a stream of the GPU `device`, a CUstream, for applications without a library of their own.
PANTILE_API Result<uint64_t> newStream(int device = 0);
/// Destroys `stream`, which newStream returned.
PANTILE_API void freeStream(uint64_t stream);
/// Returns whether `stream` is being captured into a graph.
PANTILE_API bool isCapturing(uint64_t stream);
/// Returns the GPU of `stream`; -1 if the driver does not say.
PANTILE_API int deviceOfStream(uint64_t stream);
/// Waits for the work that was queued in `stream`.
PANTILE_API Result<void> synchronizeStream(uint64_t stream);

/// Returns the directory of the kernel cache: PANTILE_CACHE_DIR, else ~/.cache/pantile.
PANTILE_API std::string cacheDirectory();

/// Returns the warnings of the CPU's access checks since the last call, rendered, each source line
/// once.
PANTILE_API std::string takeWarnings();

} // namespace pantile
