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

/// Of a function with branches between its loads: what is computed from a loaded value moves after
/// those that do not depend on it, so that the loads are in flight together. ptxas moves nothing
/// across branches.
inline constexpr char sinkAttribute[] = "pantile-sink";

struct PtxCode {
  std::string text;
  std::vector<LinkedFile> linked; ///< files whose functions are in it
};

/// Changes `module`. `optimisedLlvm` receives its LLVM IR before instruction selection.
Result<PtxCode> emitPtx(llvm::Module &module, const Target &target, const Options &options,
                        std::string *optimisedLlvm = nullptr);

} // namespace pantile
