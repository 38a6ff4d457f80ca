//===- Artifact.h - kernels compiled ahead of time, as one file ---------------------------===//
// An artifact holds any number of kernels, each for any number of targets and specialisations.
// A process that loads one launches them without compiling: no assembler, no Python, no cache.
// Kernels for the CPU are kept as tile IR, which the interpreter takes up when they are loaded.
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
  /// takes it in, with the variant that launches fall back to where tensor maps cannot describe the
  /// arguments. The Error of a compilation where it fails.
  Result<void> add(const Program &program, const Specialization &specialization,
                   const Options &options);
  /// Takes in `kernel`, which has machine code or, for the CPU, its tile IR as text; an Error of
  /// kind Launch for another one.
  Result<void> add(const Kernel &kernel);

  /// The bytes of the file.
  std::string serialize() const;
  /// An Error of kind Launch where `bytes` are no artifact, are damaged or of another version.
  static Result<Artifact> parse(std::string_view bytes);

  /// Writes the file `path`, to a temporary file that is renamed: readers see all of it or none. An
  /// Error of kind Launch where it cannot be written.
  Result<void> save(const std::string &path) const;
  /// Reads the file `path`; errors as of `parse`, and where it cannot be read.
  static Result<Artifact> load(const std::string &path);

  /// All kernels, in the order in which they were added.
  const std::vector<Kernel> &kernels() const { return contents; }

  /// The kernel called `name` that suits `target` ("cpu", or DeviceInfo::target) best: built for it,
  /// else for the newest one whose code it runs. Of several specialisations the first one added. An
  /// Error of kind Launch where there is none.
  Result<Kernel> find(std::string_view name, std::string_view target) const;
  /// The same for `name` and `target`; of several specialisations the one that takes `args` and
  /// assumes most of them.
  Result<Kernel> find(std::string_view name, std::string_view target,
                      const std::vector<LaunchArg> &args) const;

private:
  std::vector<Kernel> contents;
};

} // namespace pantile
