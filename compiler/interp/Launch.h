//===- Launch.h - the state of one launch, common to its programs ----------------------------===//
// Needs: Code.h.
// Gives: the grid, the bounds of the arguments, the first error, and warnings with source
//        positions.
// How:   The first error stops every worker at its next program. A source position warns once per
//        launch; the process's collector drops warnings that it already has.
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

/// The storage that a pointer argument may access. Unknown storage is not checked.
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
  std::vector<Bounds> bounds; ///< one per argument
  int64_t ctas = 0;           ///< CTAs that run: as many as programs unless a CTA runs several
  bool allKnown = true;       ///< an address outside all bounds is out of bounds

  std::atomic<bool> stopped = false;
  std::atomic<uint64_t> changes =
      0; ///< changes of memory; counted only if programs may wait in loops

  /// Records the first error and stops the launch.
  void setError(Error error);
  std::optional<Error> takeError();
  /// True the first time for this source position.
  bool firstWarning(const Place &place);

private:
  std::unique_ptr<std::atomic<bool>[]> warned;
  std::mutex mutex;
  std::optional<Error> first;
};

/// Ends the launch with an error at `instr`; the message names the program.
[[gnu::cold]] void report(Frame &frame, const Instr &instr, ErrorKind kind,
                          const std::string &message);
/// Warns once per source position.
[[gnu::cold]] void warn(Frame &frame, const Instr &instr, const std::string &message);

} // namespace pantile::interp
