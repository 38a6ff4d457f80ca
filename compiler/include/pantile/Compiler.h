//===- Compiler.h - source text to a kernel ---------------------------------------------===//
// Includes nothing of LLVM or CUDA. Several threads may use one Compiler or Kernel. Compiling needs
// no Python, no host compiler and, up to the cubin, no GPU.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "pantile/Prediction.h"
#include "pantile/Program.h"
#include "pantile/Remark.h"
#include "pantile/StreamK.h"
#include "pantile/TensorMap.h"
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(__GNUC__)
#define PANTILE_API __attribute__((visibility("default")))
#else
#define PANTILE_API
#endif

namespace pantile {

/// Which kernel `scanFile` looks for, and where.
struct ScanOptions {
  std::string kernel; ///< name of the entry; may be empty if the file has one jit function
  std::map<std::string, ConstValue>
      defines;                           ///< values of global names that the text does not define
  std::vector<std::string> includeFiles; ///< further files whose jit functions may be called
};

/// One kernel of a file, as `pantilec --list` prints it.
struct KernelListing {
  std::string name;                    ///< of the function
  std::vector<std::string> parameters; ///< with annotation and default, as written
  int line = 0;                        ///< of its `def`, from 1
};

/// Builds the snapshot of a kernel from `text`, that of a Python file, without running Python.
/// Messages call it `fileName`; `options` name the kernel and give values that the text does not
/// define. An Error of kind Syntax if it cannot be parsed, of kind Launch if there is no such
/// kernel.
PANTILE_API Result<Program> scanFile(std::string_view text, const std::string &fileName,
                                     const ScanOptions &options);
/// Lists the jit functions of `text`, which messages call `fileName`.
PANTILE_API Result<std::vector<KernelListing>> listKernels(std::string_view text,
                                                           const std::string &fileName);

/// A parameter of a kernel.
struct ParameterInfo {
  std::string name;         ///< as written
  bool isConstexpr = false; ///< annotated `constexpr`: a compile-time value
  bool hasDefault = false;  ///< whether it may be left out
  ConstValue defaultValue;  ///< its value then
  std::string annotation;   ///< as written; may be empty
};
/// Lists the parameters of the kernel of `program`, in order.
PANTILE_API Result<std::vector<ParameterInfo>> kernelParameters(const Program &program);

/// Parses `text`, one type of a signature: "*fp16:16" (pointer, 16-byte aligned), "*kfp32",
/// "i32:16", "fp32", "i32:1" (constant 1), a literal constant such as "128" or "true", a tuple of
/// these "(i32, *fp16)", or a tensor descriptor with its tile shape "tensordesc<fp16[64, 32]>". An
/// Error of kind Launch for any other text.
PANTILE_API Result<ArgSpec> parseArgSpec(std::string_view text);

/// The driver's handles of a kernel that launches have loaded, by device. Opaque here.
struct LaunchState;

/// Keeps the state of a kernel's launches, which the first launch makes. A copy begins without one:
/// it is another kernel.
class LaunchSlot {
public:
  /// Destroys a state.
  using Destroy = void (*)(LaunchState *);

  LaunchSlot() = default;
  LaunchSlot(const LaunchSlot &) noexcept {}
  LaunchSlot &operator=(const LaunchSlot &) noexcept { return clear(), *this; }
  ~LaunchSlot() { clear(); }
  /// Returns the state; null before the first launch.
  LaunchState *get() const { return state.load(std::memory_order_acquire); }
  /// Returns the state, which is `made` if there was none; else `made` is destroyed. `with` destroys
  /// the state. Any thread may call it.
  LaunchState &orElse(LaunchState *made, Destroy with) const {
    LaunchState *before = nullptr;
    destroy.store(with, std::memory_order_relaxed);
    if (state.compare_exchange_strong(before, made, std::memory_order_acq_rel))
      return *made;
    with(made);
    return *before;
  }

private:
  void clear() noexcept {
    if (LaunchState *made = state.exchange(nullptr, std::memory_order_acq_rel))
      destroy.load(std::memory_order_relaxed)(made);
  }

  mutable std::atomic<LaunchState *> state = nullptr;
  mutable std::atomic<Destroy> destroy = nullptr;
};

/// Something that a compilation read in addition to its inputs: a call of a host function and its result,
/// or a file and its digest. Both are in the cache's own encoding.
struct Dependency {
  std::string question, answer; ///< what was read, and its value then
  bool operator==(const Dependency &) const = default;
};

/// A compiled kernel: immutable, cheap to copy.
class PANTILE_API Kernel {
public:
  /// Its code and its properties.
  struct Data {
    std::string name;          ///< of the function
    Options options;           ///< that it was compiled with
    std::vector<ArgSpec> args; ///< one per parameter; constants take no launch argument
    std::map<std::string, std::string>
        text; ///< "tile" "layout" "pipeline" "mma" "plan" "llvm" "ptx": those requested or kept
    std::string cubin;             ///< machine code; empty on the CPU
    int sharedBytes = 0;           ///< dynamic shared memory
    int numWarps = 0;              ///< warps launched per CTA
    int registers = 0, spills = 0; ///< registers, and spilled bytes, per thread, from the assembler
    std::vector<int> written;      ///< launch arguments through which it may write, by position
    std::vector<TensorMapRecipe> tensorMaps; ///< passed as the last parameters, one each
    bool persistent = false;     ///< a CTA runs several programs; the grid is passed as parameters
    int programsPerCta = 1;      ///< programs that a launch may pack into a CTA, one warp each
    int ctasPerProgram = 1;      ///< CTAs of a program's cluster, along the grid's first axis
    int64_t workspacePerCta = 0; ///< stream-K: bytes for a partial tile; 0: no tile is split
    std::function<Result<Kernel>()> compilePlain; ///< the variant without tensor maps; may be null
    std::optional<StreamKEstimate> streamK;       ///< by which launches choose to split tiles
    std::function<Result<Kernel>()> compileStreamK; ///< the variant for these; may be null
    std::string hash;                               ///< key of the cache, in hexadecimal
    std::vector<Dependency> dependencies;           ///< in order; the cache checks them on a hit
    bool fromCache = false;                         ///< read from the disk, not compiled
    std::vector<std::pair<std::string, double>> timings; ///< stage name, milliseconds
    std::shared_ptr<void> interpreted;                   ///< CPU: what the interpreter runs
    std::string warnings;                                ///< rendered
    std::vector<Remark> remarks; ///< in source order, if Observe requests them
    std::vector<LaunchPrediction>
        predictions;        ///< one, or one per variant, if Observe requests them
    LaunchSlot launchState; ///< the loaded code, by device
  };
  Kernel() = default;
  explicit Kernel(std::shared_ptr<Data> data) : data(std::move(data)) {}
  const Data &operator*() const { return *data; }
  const Data *operator->() const { return data.get(); }
  explicit operator bool() const { return data != nullptr; }
  /// Returns the same for all copies of a kernel, and for no other.
  const void *id() const { return data.get(); }
  /// Describes the program map, warps, registers and shared memory, and the buffers of each
  /// pipelined loop, in lines to read (docs/remarks-and-plans.md), then what the assembler
  /// reported. Empty on the CPU, and if the compilation stopped at an earlier stage.
  std::string_view plan() const;

private:
  std::shared_ptr<Data> data;
};

/// Returns "full" or "triton", as options are written, for `abi`.
PANTILE_API std::string_view launchAbiName(LaunchAbi abi);
/// Returns the ABI called `name`; nothing for any other text.
PANTILE_API std::optional<LaunchAbi> launchAbiNamed(std::string_view name);

/// Describes what launches of `kernel` need or do beyond Triton's. Empty: any launcher can start it
/// with its arguments, two null pointers and CTAs of `numWarps` warps, whatever its launch ABI.
PANTILE_API std::vector<std::string> needsBeyondArguments(const Kernel::Data &kernel);

/// Runs the stages of compilation, after a look-up in the kernel cache on disk.
class PANTILE_API Compiler {
public:
  Compiler();
  ~Compiler();
  Compiler(const Compiler &) = delete;
  /// Compiles the kernel of `program`, specialised as `specialization` says, with `options`.
  /// `observe` says where to stop and what to record. The Error has the source range, and its kind
  /// says where the fault is.
  Result<Kernel> compile(const Program &program, const Specialization &specialization,
                         const Options &options, const Observe &observe = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// One pass of the compiler, by its name in Options::disabledPasses and enabledPasses.
struct PassListing {
  std::string name, summary; ///< "nv-expand-pipeline", and what it does, in a line
  bool isOptional = true;    ///< false: later stages need it, and leaving it out is an error
  bool isDefault = true;     ///< false: runs only where it is enabled
};
/// Lists all passes in the order in which they first run.
PANTILE_API std::vector<PassListing> listPasses();

/// Returns the versions of the library, of LLVM, and of the assembler in use, one line each.
PANTILE_API std::string versionText();

} // namespace pantile
