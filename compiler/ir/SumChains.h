//===- SumChains.h - sums of a product that are computed side by side -------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {

/// Unit, on the module: the steps of a product are added up one after the other.
inline constexpr llvm::StringLiteral withoutSumChains = "nv.without_sum_chains";

} // namespace pantile::names
