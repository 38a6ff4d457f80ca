//===- ScalarRegion.h - restrictions of functions on single elements --------------------===//
// Gives: a check of the region into which such a function was inlined.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// Reports an error at `span` and returns false if the function of `what` makes a tile or has an
/// effect that one thread would have to do for all: every thread runs it on its own elements.
/// Erases dead code.
bool worksOnScalars(Emitter &e, mlir::Region &region, SourceSpan span, llvm::StringRef what);

} // namespace pantile
