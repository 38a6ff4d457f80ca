//===- TritonNames.h - Triton's names of operations -----------------------------------------===//
#pragma once
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace pantile {

/// Triton's name of the operation that is called `name` here; nothing if TritonNames.def has no
/// row.
std::optional<llvm::StringRef> rowOfTritonNames(llvm::StringRef name);

/// Triton's name of `op`: its own name if Triton uses the same dialect.
std::string tritonName(mlir::Operation *op);

} // namespace pantile
