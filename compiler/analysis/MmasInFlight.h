//===- MmasInFlight.h - the MMAs that may be in flight at a point -------------------------===//
// Needs: MMAs that complete in groups (Completion::MmaGroup), in the order of their issue.
// Gives: `MmasInFlight`: a set of MMAs, each with the value that has its accumulators here, and the
//        number of MMAs issued since; the join of two such sets, and the effect of a wait on one.
// How:   MMAs complete in order, so those in flight are the youngest. Where two paths join, the
//        smaller number of MMAs issued since counts. An MMA that is complete, but whose
//        accumulators no wait has returned yet, stays in the set: instructions that read them must
//        not move above a wait.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace pantile {

struct Flight {
  nv::AsyncMmaOpInterface mma;
  mlir::Value accumulator; ///< the value that has its accumulators here; null if none does
  unsigned younger = 0;    ///< MMAs issued since, at least
  bool isComplete = false; ///< on each path; no wait has returned `accumulator` yet
  bool isEarlier = false;  ///< of an earlier iteration, or of a region before
};

class MmasInFlight {
public:
  /// Adds `mma`, which is issued here.
  void issue(nv::AsyncMmaOpInterface mma);

  /// Waits for all but the `pending` youngest MMAs. The wait returns the accumulators `values`.
  void wait(unsigned pending, mlir::ValueRange values);

  /// The largest number of MMAs that may be in flight.
  unsigned count() const;

  /// How many MMAs a wait may leave in flight so that all with `isMeant` are complete; none if
  /// these are complete already.
  std::optional<unsigned> pendingFor(llvm::function_ref<bool(const Flight &)> isMeant) const;

  /// Joins the state of another path; true if this one has changed.
  bool join(const MmasInFlight &other);

  /// The state after control enters or leaves a region: each value of `from` becomes that of `to`
  /// at the same position. Values within `left`, if that is not null, are no longer visible.
  MmasInFlight across(mlir::ValueRange from, mlir::ValueRange to, mlir::Operation *left) const;

  llvm::ArrayRef<Flight> flights() const { return all; }

private:
  bool add(const Flight &flight);

  llvm::SmallVector<Flight> all;
};

} // namespace pantile
