//===- Compiler.h - source text to a kernel ---------------------------------------------===//
// Nothing of LLVM or CUDA. Compiler and Kernel may be shared by threads. The compiler needs
// neither Python nor a host compiler nor, up to the cubin, a GPU.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "pantile/Prediction.h"
#include "pantile/Program.h"
#include "pantile/Remark.h"
#include "pantile/TensorMap.h"
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

/// What `scanFile` looks for, and where.
struct ScanOptions {
  std::string kernel; ///< name of the entry; may be empty if the file has one jit function
  std::map<std::string, ConstValue>
      defines;                           ///< values for global names that the text does not settle
  std::vector<std::string> includeFiles; ///< further files whose jit functions may be called
};

/// One kernel of a file, as `pantilec --list` prints it.
struct KernelListing {
  std::string name;                    ///< of the function
  std::vector<std::string> parameters; ///< with annotation and default, as written
  int line = 0;                        ///< of its `def`, from 1
};

/// Builds the snapshot of a kernel from `text`, that of a Python file, without running Python. Messages
/// call it `fileName`; `options` name the kernel and what the text does not settle. Errors of kind
/// Syntax where it cannot be read, Launch where there is no such kernel.
PANTILE_API Result<Program> scanFile(std::string_view text, const std::string &fileName,
                                     const ScanOptions &options);
/// The jit functions of `text`, which messages call `fileName`.
PANTILE_API Result<std::vector<KernelListing>> listKernels(std::string_view text,
                                                           const std::string &fileName);

/// A parameter of a kernel.
struct ParameterInfo {
  std::string name;         ///< as written
  bool isConstexpr = false; ///< annotated `constexpr`: a compile-time value
  bool hasDefault = false;  ///< whether it may be left out
  ConstValue defaultValue;  ///< what it is then
  std::string annotation;   ///< as written; may be empty
};
/// The parameters of the kernel of `program`, in order.
PANTILE_API Result<std::vector<ParameterInfo>> kernelParameters(const Program &program);

/// Parses `text`, one type of a signature: "*fp16:16" (pointer, 16-byte aligned), "*kfp32", "i32:16",
/// "fp32", "i32:1" (constant 1), a literal constant such as "128" or "true", a tuple of these
/// "(i32, *fp16)", or a tensor descriptor with its block "tensordesc<fp16[64, 32]>". An Error
/// of kind Launch for another text.
PANTILE_API Result<ArgSpec> parseArgSpec(std::string_view text);

/// What launches have made of a kernel so far: the driver's handles, by device. Opaque here.
struct LaunchState;
/// The state of a kernel that no launch has loaded yet.
PANTILE_API std::shared_ptr<LaunchState> newLaunchState();

/// What a compilation took from outside of its inputs, and what it got: a call of a host function
/// and its result, a file and its digest. In bytes of the cache's own.
struct Dependency {
  std::string question, answer; ///< what was asked for, and what it gave
  bool operator==(const Dependency &) const = default;
};

/// A compiled kernel: immutable, cheap to copy.
class PANTILE_API Kernel {
public:
  /// What is known of it.
  struct Data {
    std::string name;          ///< of the function
    Options options;           ///< that it was compiled with
    std::vector<ArgSpec> args; ///< one a parameter; constants take no launch argument
    std::map<std::string, std::string>
        text; ///< "tile" "layout" "pipeline" "mma" "plan" "llvm" "ptx": those asked for or kept
    std::string cubin;             ///< machine code; empty on the CPU
    int sharedBytes = 0;           ///< dynamic shared memory
    int numWarps = 0;              ///< warps launched
    int registers = 0, spills = 0; ///< a thread; spills in bytes; as the assembler told
    std::vector<int> written;      ///< launch arguments through which it may write, by position
    std::vector<TensorMapRecipe> tensorMaps; ///< parameters behind all others
    bool persistent = false;  ///< a block runs several programs; the grid follows as parameters
    int programsPerBlock = 1; ///< a launch may put up to so many into one, a warp each
    int blocksPerProgram = 1; ///< a cluster, along the grid's first axis; as the code says
    int64_t workspacePerBlock = 0; ///< bytes for a part of a sum; none: no program is split
    std::function<Result<Kernel>()> compilePlain; ///< the variant without them; may be null
    std::string hash;                             ///< key of the cache, in hexadecimal
    std::vector<Dependency> dependencies;         ///< in order; the cache compares them on a hit
    bool fromCache = false;                       ///< read from the disk, not compiled
    std::vector<std::pair<std::string, double>> timings; ///< stage name, milliseconds
    std::shared_ptr<void> interpreted;                   ///< CPU: what the interpreter runs
    std::string warnings;                                ///< rendered
    std::vector<Remark> remarks;                         ///< by place, if Observe asked for them
    std::vector<LaunchPrediction> predictions; ///< one, or one a variant, if Observe asked for them
    std::shared_ptr<LaunchState> launchState = newLaunchState(); ///< the loaded code, by device
  };
  Kernel() = default;
  explicit Kernel(std::shared_ptr<Data> data) : data(std::move(data)) {}
  const Data &operator*() const { return *data; }
  const Data *operator->() const { return data.get(); }
  explicit operator bool() const { return data != nullptr; }
  /// The same for all copies of a kernel, and for no other.
  const void *id() const { return data.get(); }
  /// How programs, warps, registers and shared memory were laid out, and what comes into the loops
  /// through which buffers, in lines to read (docs/remarks-and-plans.md); then what the assembler said. Empty
  /// on the CPU, and where the compilation stopped at an earlier stage.
  std::string_view plan() const;

private:
  std::shared_ptr<Data> data;
};

/// "full" or "triton", as options are written, for `abi`.
PANTILE_API std::string_view launchAbiName(LaunchAbi abi);
/// The ABI called `name`; nothing for another text.
PANTILE_API std::optional<LaunchAbi> launchAbiNamed(std::string_view name);

/// What launches of `kernel` need or do beyond Triton's, in words. Empty: any launcher can start it
/// with its arguments, two null pointers and blocks of `numWarps` warps, whatever it was compiled
/// for.
PANTILE_API std::vector<std::string> needsBeyondArguments(const Kernel::Data &kernel);

/// Runs the stages of compilation; looks into the on-disk cache first.
class PANTILE_API Compiler {
public:
  Compiler();
  ~Compiler();
  Compiler(const Compiler &) = delete;
  /// Compiles the kernel of `program`, specialised as `specialization` says, with `options`. `observe`
  /// says where to stop and what to note. The Error has the place in the source, and whose it is to
  /// fix.
  Result<Kernel> compile(const Program &program, const Specialization &specialization,
                         const Options &options, const Observe &observe = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// One pass of the compiler, by the name that Options::disabledPasses and enabledPasses take.
struct PassListing {
  std::string name, summary; ///< "nv-expand-pipeline", and a line of what it does
  bool isOptional = true;    ///< false: what follows needs it, and leaving it out is an error
  bool isDefault = true;     ///< false: runs only where it is enabled
};
/// All passes in the order in which they first run.
PANTILE_API std::vector<PassListing> listPasses();

/// Version of the library, of LLVM, and of the assembler in use, a line each.
PANTILE_API std::string versionText();

} // namespace pantile
