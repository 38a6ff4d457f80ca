//===- CacheKey.h - a hash of everything that determines a compilation --------------------===//
// Needs: the inputs of one compilation.
// Gives: 64 hexadecimal digits; equal exactly if the compiled kernels are, except for inputs that
//        only the compilation itself discovers: its dependencies (compiler/Dependencies.h).
// How:   One struct lists all inputs and one function hashes it. Of the program only what the
//        kernel can reach is hashed: functions that their source texts name, globals that a source
//        text names.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Options.h"
#include "pantile/Program.h"
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

struct CacheInputs {
  const Program &program;
  const Specialization &specialization;
  const Options &options;
  std::string_view assembler; ///< kind, place and version
  std::string_view build;     ///< buildId() of the compiler
};

/// The functions and classes that a kernel can reach, as indices of its program. Their order here
/// is the same in every process that has the same key.
struct ReachedParts {
  std::vector<size_t> functions, classes;
};

std::string cacheKey(const CacheInputs &inputs, ReachedParts *reached = nullptr);

/// BLAKE3 of `bytes`, in hexadecimal.
std::string hexDigest(std::string_view bytes);

/// A string that differs between any two builds of the compiler.
const std::string &buildId();

} // namespace pantile
