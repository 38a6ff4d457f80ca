//===- Options.h - how a kernel is compiled ---------------------------------------------===//
#pragma once
#include <map>
#include <set>
#include <string>

namespace pantile {

/// Where compilation stops. `pantilec --emit` prints the text of each stage.
enum class Stage {
#define STAGE(name, text, meaning) name,
#include "pantile/Stages.def"
};

/// What a kernel may require of its launches.
enum class LaunchAbi {
  Full,  ///< tensor maps, more warps, fewer CTAs, clusters: only Pantile's launchers start it
  Triton ///< the arguments and two null pointers; a program is a CTA of `numWarps` warps
};

struct LaunchShape; // Prediction.h

using LibraryPaths = std::map<std::string, std::string>; ///< files of LLVM bitcode, by name
using PassNames = std::set<std::string>;                 ///< such as "nv-expand-pipeline"

/// Everything but the source and the specialisation that changes the output; part of the cache key.
/// Options.def lists its members: `numWarps`, `numStages`, ... with type, default and meaning.
struct Options {
#define OPTION(type, member, key, initial, meaning) type member = initial;
#include "pantile/Options.def"
};

/// What to record while compiling; changes no output and is not part of the cache key.
struct Observe {
  Stage stopAfter = Stage::Cubin; ///< the last stage that runs
  std::string dumpDir;            ///< numbered IR dumps; empty: none
  bool useCache = true;           ///< take the result from the disk if it is there
  bool remarks = false; ///< fill Kernel::Data::remarks; the cache has none: always compiles
  const LaunchShape *launch = nullptr; ///< fill Kernel::Data::predictions, at Stage::Tile or Plan
};

} // namespace pantile
