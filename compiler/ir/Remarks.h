//===- Remarks.h - what passes say about speed --------------------------------------------===//
// Needs: a location that is a range of the source.
// Gives: MLIR remarks that carry their technique and kind, and the way to read both back.
// How:   as metadata of the diagnostic, so the text stays free. A remark is made whether or not
//        somebody listens: passes say a few of them a loop, and nothing is rendered.
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
