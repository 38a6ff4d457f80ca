//===- StageOperands.h - what a kernel that does not fit asks of its operands -------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile::names {
/// unit, on the module: products outside of loops take no operand by way of a buffer that is not
/// needed
constexpr llvm::StringLiteral operandsInPlace = "nv.operands_in_place";
} // namespace pantile::names
