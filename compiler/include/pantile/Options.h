//===- Options.h - how a kernel is compiled ---------------------------------------------===//
#pragma once
#include <map>
#include <set>
#include <string>

namespace pantile {

/// Where compilation stops. Each stage's text shows with `pantilec --emit`.
enum class Stage {
#define STAGE(name, text, meaning) name,
#include "pantile/Stages.def"
};

/// What a kernel may ask of its launches.
enum class LaunchAbi {
  Full,  ///< tensor maps, more warps, fewer blocks, clusters: our launchers alone start it
  Triton ///< the arguments and two null pointers; a program is a block of `numWarps` warps
};

struct LaunchShape; // Prediction.h

using LibraryPaths = std::map<std::string, std::string>; ///< files of LLVM bitcode, by name
using PassNames = std::set<std::string>;                 ///< such as "nv-expand-pipeline"

/// Everything but the source and the specialisation that changes the output; part of the cache key.
/// Options.def has its members: `numWarps`, `numStages`, ... with type, default and meaning.
struct Options {
#define OPTION(type, member, key, initial, meaning) type member = initial;
#include "pantile/Options.def"
};

/// What to observe while compiling; changes no output and is not part of the key.
struct Observe {
  Stage stopAfter = Stage::Cubin; ///< the last stage that runs
  std::string dumpDir;            ///< numbered IR dumps; empty: none
  bool useCache = true;           ///< take the result from the disk if it is there
  bool remarks = false; ///< fill Kernel::Data::remarks; the cache has none, so compile again
  const LaunchShape *launch = nullptr; ///< fill Kernel::Data::predictions, at Stage::Tile or Plan
};

} // namespace pantile
