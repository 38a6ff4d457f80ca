//===- RaiseStores.h - which results the copy engine writes -------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral raiseAllStores =
    "nv.raise_all_stores"; // unit, on the module: also where it is not known to pay
constexpr llvm::StringLiteral withoutRaisedSums =
    "nv.without_raised_sums"; // unit, on the module: no atomic sums
} // namespace names

} // namespace pantile
