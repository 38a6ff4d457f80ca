//===- Candidates.h - the ways to run a kernel's programs that were weighed -----------------===//
// Needs: nothing.
// Gives: `nv.candidates` of a kernel grows by one. NvPlan.td says what a candidate has.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pantile {

struct Candidate {
  nv::ProgramMap map = nv::ProgramMap::Grid;
  bool producer = false;
  int64_t sharedBytes = 0, ctasPerSm = 0;
  std::string refused; ///< empty: it could have been taken
};

/// What was said of the same map, with or without a producer, is replaced.
inline void addCandidate(mlir::func::FuncOp kernel, const Candidate &candidate) {
  mlir::MLIRContext *context = kernel.getContext();
  llvm::SmallVector<mlir::Attribute> all;
  if (auto before = kernel->getAttrOfType<mlir::ArrayAttr>(names::candidates))
    for (auto other : before.getAsRange<nv::CandidateAttr>())
      if (other.getMap() != candidate.map || other.getProducer() != candidate.producer)
        all.push_back(other);
  auto refused = candidate.refused.empty() ? mlir::StringAttr()
                                           : mlir::StringAttr::get(context, candidate.refused);
  all.push_back(nv::CandidateAttr::get(context, candidate.map, candidate.producer,
                                       candidate.sharedBytes, candidate.ctasPerSm, refused));
  kernel->setAttr(names::candidates, mlir::ArrayAttr::get(context, all));
}

} // namespace pantile
