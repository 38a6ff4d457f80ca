//===- TritonNames.h - Triton's names of operations -----------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace pantile {

/// Triton's name of an operation that goes by `name` here; none: TritonNames.def has no row for it.
std::optional<llvm::StringRef> rowOfTritonNames(llvm::StringRef name);

/// Triton's name of `op`: its own where Triton has the same dialect.
std::string tritonName(mlir::Operation *op);

} // namespace pantile
