//===- FormatText.h - the format specifications of f-strings ----------------------------===//
// Needs: compile-time values.
// Gives: Python's `format(value, spec)` for integers, floats, strings and bools.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Constexpr.h"
#include <llvm/ADT/StringRef.h>

namespace pantile {

/// The text, or why there is none.
Folded formatText(const Value &value, llvm::StringRef spec);

} // namespace pantile
