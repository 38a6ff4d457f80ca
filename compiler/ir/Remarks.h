//===- Remarks.h - optimisation remarks of passes -----------------------------------------===//
// Needs: a location that is a range of the source.
// Gives: MLIR remarks with a technique and a kind, and functions that read both.
// How:   Technique and kind are metadata of the diagnostic; the message is free text. Remarks are
//        created even if no handler wants them: there are a few per loop, and none is rendered.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include "pantile/Remark.h"

namespace pantile {

mlir::InFlightDiagnostic remarkApplied(mlir::Location at, Technique technique);
mlir::InFlightDiagnostic remarkMissed(mlir::Location at, Technique technique);

/// Why a technique is not applied: at which operation, and because of which other one, if any.
struct Refusal {
  mlir::Operation *at = nullptr, *culprit = nullptr;
  std::string reason;
};

/// Remarks that `what` is missed, with the reason, and notes `note` at the culprit.
void remarkMissed(Technique technique, const llvm::Twine &what, const Refusal &refusal,
                  const char *note = "here");

/// Technique and kind of a remark; those of an ordinary `emitRemark` are Other and Missed.
Technique techniqueOf(mlir::Diagnostic &remark);
Remark::Kind kindOf(mlir::Diagnostic &remark);

} // namespace pantile
