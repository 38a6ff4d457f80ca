//===- ReadTileIR.h - read tile IR from a file instead of a kernel's source --------===//
// Needs: a program whose kernel's file is tile IR, as `pantilec --emit=tile` writes it.
// Gives: the module as emission would leave it, for the given target and options.
// How:   The file's extension decides.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pantile/Options.h"
#include "pantile/Program.h"

namespace pantile {

/// Whether the text of `source` is tile IR: its file ends in ".ttir" or ".mlir".
bool isTileIR(const FunctionSource &source);

/// The module of the kernel's text. An error names what is wrong: the text does not parse, it has
/// been through the passes of a GPU, or its kernel does not take what `specialization` passes.
Result<mlir::OwningOpRef<mlir::ModuleOp>> readTileIR(mlir::MLIRContext &context,
                                                     const FunctionSource &source,
                                                     const Specialization &specialization,
                                                     const Options &options);

} // namespace pantile
