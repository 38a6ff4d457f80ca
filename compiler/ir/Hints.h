//===- Hints.h - attributes that hold hints about values ------------------------------------===//
// Gives: the names of the attributes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Value.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace pantile {

/// On an scf.for: a number that its induction variable is a multiple of.
inline constexpr llvm::StringLiteral indexDivisibility = "tile.index_divisibility";

/// The attribute that holds the hint `name` about `result`: that name, followed by the result's
/// number if its operation has several.
inline std::string hintName(llvm::StringRef name, mlir::OpResult result) {
  if (result.getOwner()->getNumResults() == 1)
    return name.str();
  return (name + "." + llvm::Twine(result.getResultNumber())).str();
}

} // namespace pantile
