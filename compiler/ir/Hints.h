//===- Hints.h - where promises about a value are kept ------------------------------------===//
// Gives: the names of the attributes that hold hints.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace pantile {

/// Of an scf.for: a number that its counter is a multiple of.
inline constexpr llvm::StringLiteral indexDivisibility = "tile.index_divisibility";

/// The attribute that holds the hint `name` about `result`: that name, followed by the result's
/// number where its operation has several.
inline std::string hintName(llvm::StringRef name, mlir::OpResult result) {
  if (result.getOwner()->getNumResults() == 1)
    return name.str();
  return (name + "." + llvm::Twine(result.getResultNumber())).str();
}

} // namespace pantile
