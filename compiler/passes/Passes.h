//===- Passes.h - constructors and registration of the passes ----------------------------===//
#pragma once
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
}
namespace math {
class MathDialect;
}
namespace scf {
class SCFDialect;
}
} // namespace mlir

namespace pantile {
class TileDialect;
namespace nv {
class NvDialect;
}

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace pantile
