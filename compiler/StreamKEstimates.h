//===- StreamKEstimates.h - by what launches of a module's kernel choose stream-K ---------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "pantile/StreamK.h"
#include <optional>

namespace pantile {
/// That of the only kernel; none where its launches have no such choice.
std::optional<StreamKEstimate> streamKEstimate(mlir::ModuleOp module);
} // namespace pantile
