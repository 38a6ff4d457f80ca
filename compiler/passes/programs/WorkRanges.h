//===- WorkRanges.h - which iterations of which tiles a CTA processes, on the device -------===//
// Needs: a WorkSplit from the launch (ir/WorkSplit.h); the iterations of a tile, as many for all
//        tiles.
// Gives: the work units of a CTA in order: first the pieces of split tiles in its work range, the
//        last piece first; then its tiles that stay whole.
// How:   1. The split tiles of a cycle, one after the other, are a row of iterations.
//        2. The row is divided into work ranges of equal length, or one more: one range per CTA of
//           the cycle, or fewer ranges where they would be too short.
//        3. If that saves less than storing and loading the partial tiles costs, all tiles stay
//           whole.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Numbers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

/// What a CTA processes; computed once.
struct WorkRange {
  mlir::Value iterations;   ///< of a tile
  mlir::Value cta;          ///< this one
  mlir::Value cycles;       ///< splits of the same form, of CTAs next to each other
  mlir::Value place, cycle; ///< of this CTA: in its cycle, and which one that is
  mlir::Value each, larger; ///< iterations of a work range; how many ranges have one more
  mlir::Value begin, end;   ///< of the range, counted through the tiles of its cycle
  mlir::Value last;         ///< tile of the range, in its cycle
  mlir::Value units;        ///< pieces of tiles in the range
  mlir::Value whole;        ///< first of the CTA's tiles that stay whole
  mlir::Value stride;       ///< from there to the next
  mlir::Value allUnits;     ///< pieces and whole tiles
};

/// Iterations [first, last) of one output tile.
struct WorkUnit {
  mlir::Value program; ///< that computes the tile
  mlir::Value start;   ///< the number of the tile's first iteration in the cycle
  mlir::Value first, last;
};

/// Computes the work range of a CTA. `programs` is the loop that MakePersistent made; `gain`: the
/// fewest iterations that a split must save per partial tile.
WorkRange findWorkRange(mlir::OpBuilder &b, mlir::scf::ForOp programs, mlir::Value iterations,
                        int64_t gain);

WorkUnit findWorkUnit(Numbers &n, const WorkRange &s, mlir::Value number);

/// The first CTA that has a piece of the unit's tile.
mlir::Value firstCta(Numbers &n, const WorkRange &s, const WorkUnit &unit);

} // namespace pantile
