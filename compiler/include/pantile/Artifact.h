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

class PANTILE_API Artifact {
public:
  /// Compiles a kernel and takes it in, with the variant that launches fall back to where tensor
  /// maps cannot describe the arguments.
  Result<void> add(const Program &program, const Specialization &specialization,
                   const Options &options);
  /// Takes a kernel in that has machine code or, for the CPU, its tile IR as text.
  Result<void> add(const Kernel &kernel);

  std::string serialize() const;
  /// An Error of kind Launch where `bytes` are no artifact, are damaged or of another version.
  static Result<Artifact> parse(std::string_view bytes);

  /// Written to a temporary file and renamed: readers see all of it or none.
  Result<void> save(const std::string &path) const;
  static Result<Artifact> load(const std::string &path);

  const std::vector<Kernel> &kernels() const { return contents; }

  /// The kernel of this name that suits `target` ("cpu", or DeviceInfo::target) best: built for it,
  /// else for the newest one whose code it runs. Of several specialisations the first one added.
  Result<Kernel> find(std::string_view name, std::string_view target) const;
  /// Of several specialisations the one that takes `args` and assumes most of them.
  Result<Kernel> find(std::string_view name, std::string_view target,
                      const std::vector<LaunchArg> &args) const;

private:
  std::vector<Kernel> contents;
};

} // namespace pantile
