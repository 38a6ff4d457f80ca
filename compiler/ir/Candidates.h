//===- Candidates.h - the ways to run a kernel's programs, and the chosen one ---------------===//
// Needs: nothing.
// Gives: `nv.candidates` of a kernel, to add to and to read. NvPlan.td says what a candidate has.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

struct Candidate {
  nv::ProgramMap map = nv::ProgramMap::Grid;
  bool producer = false;
  int64_t sharedBytes = 0, ctasPerSm = 0;
  std::string refused; ///< empty: it could have been chosen
  bool chosen = false;
};

/// Replaces what was said of the same map, with or without a producer. If `candidate` is chosen, no
/// other one is any more.
void addCandidate(mlir::func::FuncOp kernel, const Candidate &candidate);

/// Null if nothing was chosen: passes that run alone then do what they can.
nv::CandidateAttr chosenCandidate(mlir::func::FuncOp kernel);

} // namespace pantile
