//===- Remarks.h - optimisation remarks of passes -----------------------------------------===//
// Needs: a location that is a range of the source.
// Gives: MLIR remarks with a technique and a kind, and functions that read both.
// How:   Technique and kind are metadata of the diagnostic; the message is free text. Remarks are
//        created even if no handler wants them: there are a few per loop, and none is rendered.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Diagnostics.h"
#include "pantile/Remark.h"

namespace pantile {

mlir::InFlightDiagnostic remarkApplied(mlir::Location at, Technique technique);
mlir::InFlightDiagnostic remarkMissed(mlir::Location at, Technique technique);

/// Technique and kind of a remark; those of an ordinary `emitRemark` are Other and Missed.
Technique techniqueOf(mlir::Diagnostic &remark);
Remark::Kind kindOf(mlir::Diagnostic &remark);

} // namespace pantile
