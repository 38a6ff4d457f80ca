//===- Candidates.cpp - `nv.candidates` of a kernel -----------------------------------------===//
// Gives: see Candidates.h.
//===----------------------------------------------------------------------------------------===//
#include "ir/Candidates.h"

using namespace mlir;

namespace pantile {
namespace {

SmallVector<nv::CandidateAttr> candidatesOf(func::FuncOp kernel) {
  auto all = kernel->getAttrOfType<ArrayAttr>(names::candidates);
  return all ? llvm::to_vector(all.getAsRange<nv::CandidateAttr>())
             : SmallVector<nv::CandidateAttr>();
}

nv::CandidateAttr withoutChoice(nv::CandidateAttr candidate) {
  return nv::CandidateAttr::get(candidate.getContext(), candidate.getMap(), candidate.getProducer(),
                                candidate.getSharedBytes(), candidate.getCtasPerSm(),
                                candidate.getRefused(), /*chosen=*/false);
}

} // namespace

void addCandidate(func::FuncOp kernel, const Candidate &candidate) {
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> all;
  for (nv::CandidateAttr other : candidatesOf(kernel))
    if (other.getMap() != candidate.map || other.getProducer() != candidate.producer)
      all.push_back(candidate.chosen ? withoutChoice(other) : other);
  auto refused =
      candidate.refused.empty() ? StringAttr() : StringAttr::get(context, candidate.refused);
  all.push_back(nv::CandidateAttr::get(context, candidate.map, candidate.producer,
                                       candidate.sharedBytes, candidate.ctasPerSm, refused,
                                       candidate.chosen));
  kernel->setAttr(names::candidates, ArrayAttr::get(context, all));
}

nv::CandidateAttr chosenCandidate(func::FuncOp kernel) {
  for (nv::CandidateAttr candidate : candidatesOf(kernel))
    if (candidate.getChosen())
      return candidate;
  return {};
}

int64_t plannedCtas(Operation *op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  nv::CandidateAttr chosen = kernel ? chosenCandidate(kernel) : nv::CandidateAttr();
  return chosen ? std::max<int64_t>(chosen.getCtasPerSm(), 1) : 1;
}

void reportRefusal(func::FuncOp kernel, nv::ProgramMap map, const Refusal &refusal) {
  if (!refusal.at)
    return;
  addCandidate(kernel, {.map = map, .producer = true, .refused = refusal.reason});
  if (map == nv::ProgramMap::Grid)
    remarkMissed(Technique::WarpSpecialisation, "warps are not specialised", refusal);
  else
    remarkMissed(Technique::Persistence,
                 map == nv::ProgramMap::StreamK ? "stream-K does not apply"
                                                : "the kernel is not persistent",
                 refusal);
}

} // namespace pantile
