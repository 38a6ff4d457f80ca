//===- Pipeline.h - the passes over the tile IR, in order -------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"
#include "pantile/Compiler.h"
#include <functional>

namespace pantile {

/// Called after each pass with its name ("tile-assign-layouts") and the module, and whether the pass
/// and the verifier after it succeeded.
using PassObserver =
    std::function<void(llvm::StringRef pass, mlir::ModuleOp module, bool succeeded)>;

/// In Options::enabledPasses, and in builds with tests alone:
/// "nv-insert-barriers+test-plant-error:kind=drop-barrier at=2" has the compiler make a mistake.
constexpr llvm::StringLiteral plantedError = "+test-plant-error:";

/// What a kernel goes without because it does not fit into shared memory.
struct Concessions {
  bool tmaStores = false;      ///< threads store results
  bool persistence = false;    ///< each program has a CTA of its own
  bool producer = false;       ///< all warps load
  bool operandBuffers = false; ///< operands that are loaded outside of loops stay in registers
  bool lastStage = false;      ///< loops have a stage less
  bool turnedBytes = false;    ///< operands of bytes are turned into one buffer, and not prefetched
  bool fp32OnWgmma = false;    ///< dots of fp32 run on mma.sync, with one buffer each or none
  bool resultBuffers = false;  ///< dots' results take no way through shared memory
};

/// Simplifies layout-free tile IR: what both the CPU and the GPU start from.
mlir::LogicalResult runTilePasses(mlir::ModuleOp module, const Options &options,
                                  const PassObserver &observe = {});

/// Layout-free tile IR to what `lower` takes. Stops early at Stage::Layout, Pipeline or Mma.
mlir::LogicalResult runGpuPasses(mlir::ModuleOp module, const Options &options,
                                 const Observe &wanted, const PassObserver &observe = {},
                                 const Concessions &without = {});

} // namespace pantile
