//===- ScalarRegion.h - what a function on single elements may do ------------------------===//
// Gives: a check of the region that such a function was inlined in.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// False, and an error at `span`, if the function of `what` makes a tile or has an effect that one
/// thread would do for all: every thread runs it on elements of its own. Erases what nothing uses.
bool worksOnScalars(Emitter &e, mlir::Region &region, SourceSpan span, llvm::StringRef what);

} // namespace pantile
