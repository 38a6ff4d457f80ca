//===- Translate.h - tile IR to a Code ----------------------------------------------------===//
// Needs: a module of layout-free tile IR with one kernel.
// Gives: its Code, or an error at an operation that the interpreter does not support.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Code.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace pantile {
class SourceManager;
}

namespace pantile::interp {

/// `sources` is used during the call only; may be null.
Result<std::unique_ptr<Code>> translateKernel(mlir::ModuleOp module, const SourceManager *sources);

} // namespace pantile::interp
