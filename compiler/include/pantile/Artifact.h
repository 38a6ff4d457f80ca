//===- Artifact.h - kernels compiled ahead of time, as one file ---------------------------===//
// An artifact holds any number of kernels, each for any number of targets and specialisations.
// A process that loads one launches them without compiling: no assembler, no Python, no cache.
// Kernels for the CPU are kept as tile IR, which the interpreter translates when they are loaded.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include "pantile/Runtime.h"
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// Kernels, each for one target and one specialisation.
class PANTILE_API Artifact {
public:
  /// Compiles the kernel of `program`, specialised as `specialization` says, with `options`, and
  /// adds it, with the variants that launches run where tensor maps cannot describe the arguments,
  /// and where stream-K is faster. Returns the Error of the compilation if it fails.
  Result<void> add(const Program &program, const Specialization &specialization,
                   const Options &options);
  /// Adds `kernel`, which has machine code or, for the CPU, its tile IR as text; an Error of kind
  /// Launch for any other kernel.
  Result<void> add(const Kernel &kernel);

  /// Returns the bytes of the file.
  std::string serialize() const;
  /// Reads an artifact from `bytes`; an Error of kind Launch if they are no artifact, are damaged
  /// or have another version.
  static Result<Artifact> parse(std::string_view bytes);

  /// Writes the file `path` by renaming a temporary file: readers see all of it or none. An Error
  /// of kind Launch if it cannot be written.
  Result<void> save(const std::string &path) const;
  /// Reads the file `path`; the errors of `parse`, and one of kind Launch if it cannot be read.
  static Result<Artifact> load(const std::string &path);

  /// All kernels, in the order in which they were added.
  const std::vector<Kernel> &kernels() const { return contents; }

  /// Finds the kernel called `name` that fits `target` ("cpu", or DeviceInfo::target) best: the one
  /// compiled for it, else the one compiled for the newest target whose code it runs. Of several
  /// specialisations, the first one added. An Error of kind Launch if there is none.
  Result<Kernel> find(std::string_view name, std::string_view target) const;
  /// Finds the same for `name` and `target`; of several specialisations, the one that accepts
  /// `args` and assumes the most about them.
  Result<Kernel> find(std::string_view name, std::string_view target,
                      const std::vector<LaunchArg> &args) const;

private:
  std::vector<Kernel> contents;
};

} // namespace pantile
