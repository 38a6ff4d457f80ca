//===- Nvptx.h - LLVM IR to PTX --------------------------------------------------------------===//
// Needs: a module of PTX kernels.
// Gives: optimised PTX text.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "support/Target.h"
#include <string>

namespace llvm {
class Module;
}

namespace pantile {

/// Changes `module`. `optimisedLlvm` receives its text before instruction selection.
Result<std::string> emitPtx(llvm::Module &module, const Target &target, const Options &options,
                            std::string *optimisedLlvm = nullptr);

} // namespace pantile
