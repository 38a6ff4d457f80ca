//===- CacheKey.h - everything that changes what is compiled, as one hash -----------------===//
// Needs: the inputs of one compilation.
// Gives: 64 hexadecimal digits; equal exactly when the compiled kernel is, but for what only the
//        compilation itself finds out: its dependencies (compiler/Dependencies.h).
// How:   one struct lists all inputs and one function hashes it. Of the program only what the
//        kernel can reach counts: functions through the names in their texts, globals that a text
//        names.
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

/// The functions and classes that a kernel can reach, as indices of its program. Their positions
/// here are the same in every process that has the same key.
struct ReachedParts {
  std::vector<size_t> functions, classes;
};

std::string cacheKey(const CacheInputs &inputs, ReachedParts *reached = nullptr);

/// BLAKE3 of `bytes`, in hexadecimal.
std::string hexDigest(std::string_view bytes);

/// A text that differs between any two builds of the compiler.
const std::string &buildId();

} // namespace pantile
