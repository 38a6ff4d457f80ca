//===- Remarks.cpp - optimisation remarks of passes ---------------------------------------===//
// Needs: see Remarks.h.
// Gives: its functions.
// How:   metadata is a pair of numbers: kind, technique.
//===------------------------------------------------------------------------------------===//
#include "ir/Remarks.h"

namespace pantile {
namespace {

mlir::InFlightDiagnostic remark(mlir::Location at, Remark::Kind kind, Technique technique) {
  mlir::InFlightDiagnostic diagnostic = mlir::emitRemark(at);
  if (mlir::Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic()) {
    underlying->getMetadata().emplace_back(static_cast<unsigned>(kind));
    underlying->getMetadata().emplace_back(static_cast<unsigned>(technique));
  }
  return diagnostic;
}

/// Number `index` of the pair, or `fallback` of a remark that has none.
uint64_t metadata(mlir::Diagnostic &remark, size_t index, uint64_t fallback) {
  auto &pair = remark.getMetadata();
  return pair.size() == 2 ? pair[index].getAsUnsigned() : fallback;
}

} // namespace

mlir::InFlightDiagnostic remarkApplied(mlir::Location at, Technique technique) {
  return remark(at, Remark::Kind::Applied, technique);
}

mlir::InFlightDiagnostic remarkMissed(mlir::Location at, Technique technique) {
  return remark(at, Remark::Kind::Missed, technique);
}

void remarkMissed(Technique technique, const llvm::Twine &what, const Refusal &refusal,
                  const char *note) {
  mlir::InFlightDiagnostic remark = remarkMissed(refusal.at->getLoc(), technique);
  remark << what << ": " << refusal.reason;
  if (refusal.culprit)
    remark.attachNote(refusal.culprit->getLoc()) << note;
}

Technique techniqueOf(mlir::Diagnostic &remark) {
  return static_cast<Technique>(metadata(remark, 1, static_cast<uint64_t>(Technique::Other)));
}

Remark::Kind kindOf(mlir::Diagnostic &remark) {
  return static_cast<Remark::Kind>(
      metadata(remark, 0, static_cast<uint64_t>(Remark::Kind::Missed)));
}

} // namespace pantile
