//===- BlockPointer.h - load and store through block pointers -----------------------------===//
// Needs: a bound call of `load` or `store` whose pointer is a block pointer.
// Gives: the same call with a tile of plain pointers and a mask.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// Nothing after an error.
std::optional<BoundCall> loadThroughPointers(Emitter &e, const BoundCall &call);
std::optional<BoundCall> storeThroughPointers(Emitter &e, const BoundCall &call);
/// The element type and shape that a block pointer points to.
Type pointedType(const Value &blockPointer);

} // namespace pantile
