//===- Nvptx.h - LLVM IR to PTX --------------------------------------------------------------===//
// Needs: a module of PTX kernels.
// Gives: optimised PTX, and the libraries that were linked.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "support/Target.h"
#include "target/Libdevice.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace pantile {

struct PtxCode {
  std::string text;
  std::vector<LinkedFile> linked; ///< files whose functions are in it
};

/// Changes `module`. `optimisedLlvm` receives its LLVM IR before instruction selection.
Result<PtxCode> emitPtx(llvm::Module &module, const Target &target, const Options &options,
                        std::string *optimisedLlvm = nullptr);

} // namespace pantile
