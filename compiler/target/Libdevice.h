//===- Libdevice.h - NVIDIA's mathematical functions as bitcode -------------------------------===//
// Needs: a module that may declare `__nv_*` functions.
// Gives: their definitions, linked in.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"

namespace llvm {
class Module;
}

namespace pantile {

/// Does nothing for a module that calls none. Else an error names the function when the bitcode
/// is nowhere: PANTILE_LIBDEVICE_PATH, TRITON_LIBDEVICE_PATH, CUDA_HOME, CUDA_PATH,
/// /usr/local/cuda.
Result<void> linkLibdevice(llvm::Module &module);

} // namespace pantile
