//===- Remark.h - what the compiler did for speed, and why not more ---------------------===//
#pragma once
#include "pantile/Error.h"
#include <string>

namespace pantile {

/// What a remark is about.
enum class Technique {
  Other,              ///< none of these
  TensorCores,        ///< the instruction of a dot
  TensorMaps,         ///< loads and stores by TMA
  WarpSpecialisation, ///< producer warps that load for consumer warps
  Pipelining,         ///< software pipelining: copies issued iterations before their use
  Persistence,        ///< persistent kernels, stream-K
  Registers,          ///< registers per thread, spills
  SharedMemory,       ///< bytes, bank conflicts
  GlobalMemory        ///< vector width, coalescing
};

/// One finding, in terms of the source.
struct Remark {
  /// Applied: an optimisation was done. Missed: it was not, and why. Figure: a number.
  enum class Kind { Applied, Missed, Figure } kind = Kind::Missed;
  Technique technique = Technique::Other; ///< what it is about
  std::string message;                    ///< one line
  std::string rendered; ///< with the source line, the underlined range and the notes
  SourceRange range;    ///< of the operation; without a file if it is not known
};

/// Returns the name of `technique` in lists and in Python, such as "tensor cores".
inline const char *toString(Technique technique) {
  switch (technique) {
  case Technique::TensorCores:
    return "tensor cores";
  case Technique::TensorMaps:
    return "tensor maps";
  case Technique::WarpSpecialisation:
    return "warp specialisation";
  case Technique::Pipelining:
    return "pipelining";
  case Technique::Persistence:
    return "persistence";
  case Technique::Registers:
    return "registers";
  case Technique::SharedMemory:
    return "shared memory";
  case Technique::GlobalMemory:
    return "global memory";
  case Technique::Other:
    break;
  }
  return "other";
}

/// Returns "applied", "missed" or "figure", for `kind`.
inline const char *toString(Remark::Kind kind) {
  switch (kind) {
  case Remark::Kind::Applied:
    return "applied";
  case Remark::Kind::Missed:
    return "missed";
  case Remark::Kind::Figure:
    break;
  }
  return "figure";
}

} // namespace pantile
