//===- MmasInFlight.h - the MMAs that may be in flight at a place -------------------------===//
// Needs: MMAs that complete in groups (Completion::MmaGroup), in the order in which they start.
// Gives: `MmasInFlight`: a set of MMAs, each with the value that has its accumulators here and how
//        many have started since; what joins two such sets, and what a wait makes of one.
// How:   MMAs end in the order of their start, so those in flight are the youngest ones. Of two
//        paths that meet, the one on which fewer have started since counts. What a wait has
//        ended without giving its accumulators back is kept, since instructions that read these
//        must not move above a wait.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

struct Flight {
  nv::AsyncMmaOpInterface mma;
  mlir::Value accumulator; ///< has its accumulators here; null if no value does
  unsigned younger = 0;    ///< MMAs that have started since, at least
  bool isOver = false;     ///< on each path; `accumulator` was not given back by a wait yet
  bool hasLeft = false;    ///< of an earlier iteration, or of a region that has ended
};

class MmasInFlight {
public:
  /// `mma` starts.
  void start(nv::AsyncMmaOpInterface mma);

  /// A wait for all but the `pending` youngest, which gives `values` back.
  void wait(unsigned pending, mlir::ValueRange values);

  /// At most so many may be in flight.
  unsigned count() const;

  /// How many a wait may leave in flight, for all that `isMeant` to be over; none if they are.
  std::optional<unsigned> pendingFor(llvm::function_ref<bool(const Flight &)> isMeant) const;

  /// Takes in the state of another path; true if this one has changed.
  bool join(const MmasInFlight &other);

  /// The state where control enters or leaves a region: a value of `from` is the one of `to` at the
  /// same place there. Values within `left`, if that is not null, are no longer visible.
  MmasInFlight across(mlir::ValueRange from, mlir::ValueRange to, mlir::Operation *left) const;

  llvm::ArrayRef<Flight> flights() const { return all; }

private:
  bool add(const Flight &flight);

  llvm::SmallVector<Flight> all;
};

} // namespace pantile
