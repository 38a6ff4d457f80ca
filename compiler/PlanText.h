//===- PlanText.h - a kernel's plan as text ----------------------------------------===//
// Needs: a module with `nv.plan`, as nv-record-plan leaves it.
// Gives: the text of the stage `plan`, and the line with what ptxas made of it.
// How:   docs/remarks-and-plans.md shows an example and explains each line.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace pantile {

/// `withPlaces`: print the source locations of loops. Without them, the text does not depend on
/// where the kernel's source is.
std::string planText(mlir::ModuleOp module, bool withPlaces);

/// `spills` in bytes per thread.
std::string assembledLine(int registers, int spills);

} // namespace pantile
