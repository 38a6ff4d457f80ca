//===- Emit.h - syntax tree to tile IR: the entry ---------------------------------------===//
// Needs: a Program (texts and the meaning of global names) and how its kernel is specialised.
// Gives: a module with one function, the kernel, all jit calls inlined; every operation has
//        the range of its source as location.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Options.h"
#include "pantile/Program.h"
#include "support/Diagnostics.h"
#include "support/Source.h"
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace pantile {

/// The tile IR of the kernel, or null after errors.
mlir::OwningOpRef<mlir::ModuleOp> emitTileIR(mlir::MLIRContext &context, const Program &program,
                                             const Specialization &specialization,
                                             const Options &options, SourceManager &sources,
                                             DiagnosticEngine &diagnostics);

} // namespace pantile
