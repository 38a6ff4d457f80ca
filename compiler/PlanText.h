//===- PlanText.h - a kernel's plan in lines to read -----------------------------------------===//
// Needs: a module with `nv.plan`, as nv-record-plan leaves it.
// Gives: the text of the stage `plan`, and the line that says what the assembler made of it.
// How:   docs/remarks-and-plans.md shows an example and explains each line.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace pantile {

/// `withPlaces`: say where loops stand in the source. Without, the text is the same wherever the
/// kernel's own text stands.
std::string planText(mlir::ModuleOp module, bool withPlaces);

/// `spills` in bytes per thread.
std::string assembledLine(int registers, int spills);

} // namespace pantile
