//===- Candidates.h - the program maps considered for a kernel, and the chosen one ----------===//
// Needs: nothing.
// Gives: access to `nv.candidates` of a kernel. NvPlan.td describes a candidate.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Remarks.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

struct Candidate {
  nv::ProgramMap map = nv::ProgramMap::Grid;
  bool producer = false;
  int64_t sharedBytes = 0, ctasPerSm = 0;
  std::string refused{}; ///< empty: it could have been chosen
  bool chosen = false;
};

/// Adds `candidate`, in place of an earlier one with the same map and `producer`. If it is chosen,
/// no other one is any longer.
void addCandidate(mlir::func::FuncOp kernel, const Candidate &candidate);

/// Returns the chosen candidate; null if there is none: passes that run alone then apply what they
/// can.
nv::CandidateAttr chosenCandidate(mlir::func::FuncOp kernel);

/// CTAs per SM that are planned for the kernel of `op`; one where nothing is chosen.
int64_t plannedCtas(mlir::Operation *op);

/// Reports why programs are not run by `map` with a producer, in a remark and in `nv.candidates`.
/// Nothing, if no loop of the kernel has an MMA that reads its loads: `refusal.at` is null.
void reportRefusal(mlir::func::FuncOp kernel, nv::ProgramMap map, const Refusal &refusal);

} // namespace pantile
