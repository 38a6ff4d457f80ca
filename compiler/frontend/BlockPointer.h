//===- BlockPointer.h - load and store through block pointers -----------------------------===//
// Needs: a bound call of `load` or `store` whose pointer is a block pointer.
// Gives: the call's result, by way of plain pointers and a mask.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

Value loadBlock(Emitter &e, const BoundCall &call);
Value storeBlock(Emitter &e, const BoundCall &call);
/// What a block pointer points to.
Type pointedType(const Value &blockPointer);

} // namespace pantile
