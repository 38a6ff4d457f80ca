//===- Launch.h - what the programs of one launch share ---------------------------------------===//
// Needs: Code.h.
// Gives: the grid, the bounds of the arguments, the first error, and warnings with their places.
// How:   the first error stops every worker at its next program. A place warns once a launch; the
//        collector of the process drops what it holds already.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Code.h"
#include "pantile/Runtime.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace pantile::interp {

/// The storage that a pointer argument may reach. Unknown storage is not checked.
struct Bounds {
  uint64_t begin = 0, end = 0;
  bool pointer = false, known = false, readOnly = false;
  bool holds(uint64_t lo, uint64_t hi, unsigned bytes) const {
    return lo >= begin && hi < end && end - hi >= bytes;
  }
};

struct Launch {
  Launch(const Code &code, Grid grid, bool strict)
      : code(code), grid(grid), strict(strict),
        warned(new std::atomic<bool>[code.places.size() + 1]()) {}

  const Code &code;
  const Grid grid;
  const bool strict;          ///< reads out of bounds and odd divisions are errors
  std::vector<Bounds> bounds; ///< one an argument
  int64_t blocks = 0;         ///< that run; the programs unless a block runs several
  bool allKnown = true;       ///< an address outside all bounds is out of bounds

  std::atomic<bool> stopped = false;
  std::atomic<uint64_t> changes = 0; ///< of memory; counted only where programs spin

  /// Keeps the first error and stops the launch.
  void setError(Error error);
  std::optional<Error> takeError();
  /// True the first time for this place.
  bool firstWarning(const Place &place);

private:
  std::unique_ptr<std::atomic<bool>[]> warned;
  std::mutex mutex;
  std::optional<Error> first;
};

/// Ends the launch with an error at `instr`; the message names the program.
[[gnu::cold]] void report(Frame &frame, const Instr &instr, ErrorKind kind,
                          const std::string &message);
/// Warns once a place.
[[gnu::cold]] void warn(Frame &frame, const Instr &instr, const std::string &message);

} // namespace pantile::interp
