//===- Options.h - how a kernel is compiled ---------------------------------------------===//
#pragma once
#include <map>
#include <set>
#include <string>

namespace pantile {

/// Where compilation stops. Each stage's text shows with `pantilec --emit`.
enum class Stage { Ast, Tile, Layout, Pipeline, Mma, Plan, Llvm, Ptx, Cubin };

/// What a kernel may ask of its launches.
enum class LaunchAbi {
  Full,  ///< tensor maps, more warps, fewer blocks, clusters: our launchers alone start it
  Triton ///< the arguments and two null pointers; a program is a block of `numWarps` warps
};

/// Everything but the source and the specialisation that changes the output. Part of the cache key.
struct Options {
  std::string target = "cpu";                    ///< "cpu", "sm_80", "sm_90a", ...
  int numWarps = 4;                              ///< a power of two, 1 to 32
  int numStages = 3;                             ///< shared-memory buffers of a pipelined loop
  int numCtas = 1;                               ///< only 1 so far
  int maxRegisters = 0;                          ///< limit of registers a thread; 0: none
  bool enableFpFusion = true;                    ///< contract a*b+c to fma
  bool debug = false;                            ///< compile device_assert in
  bool sanitizeOverflow = true;                  ///< with debug: assert that integers do not wrap
  bool lineInfo = true;                          ///< `.loc` lines in PTX
  std::string inputPrecision = "tf32";           ///< default of fp32 dots: "tf32" or "ieee"
  std::string assemblerOptions;                  ///< more options, as `ptxas` takes them
  std::map<std::string, std::string> externLibs; ///< bitcode files to link: name, path
  std::set<std::string> disabledPasses;          ///< pass names, e.g. "nv-expand-pipeline"
  std::set<std::string> enabledPasses;           ///< of those that are off by default
  LaunchAbi launchAbi = LaunchAbi::Full;
};

/// What to observe while compiling; changes no output and is not part of the key.
struct Observe {
  Stage stopAfter = Stage::Cubin;
  std::string dumpDir; ///< numbered IR dumps; empty: none
  bool useCache = true;
  bool remarks = false; ///< fill Kernel::Data::remarks; the cache has none, so compile again
};

} // namespace pantile
