//===- EachPass.h - interpret a kernel after each pass -----------------------------===//
// Needs: tile IR before any pass; PANTILE_CHECK_EACH_PASS: `1` or targets, "sm_80,sm_90a".
// Gives: an interpreted kernel whose launches also interpret the IR after each pass, and compare
//        results.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "interp/Interpreter.h"
#include "pantile/Compiler.h"

namespace pantile {

/// Whether launches on the CPU compare the results after each pass.
bool checksEachPass();

/// `module` before any pass; `options` are those of the compilation for the CPU.
Result<std::shared_ptr<InterpretedKernel>>
createWithStates(mlir::ModuleOp module, const Options &options, const SourceManager *sources);

} // namespace pantile
