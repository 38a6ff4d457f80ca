//===- Libdevice.h - NVIDIA's mathematical functions as bitcode -------------------------------===//
// Needs: a module that may declare `__nv_*` functions.
// Gives: their definitions, linked in.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <string>

namespace llvm {
class Module;
}

namespace pantile {

/// PANTILE_LIBDEVICE_PATH, TRITON_LIBDEVICE_PATH, then beside each place of the assembler; empty
/// when it is nowhere.
std::string findLibdevice();

/// Does nothing for a module that calls none. Else an error names the function when there is no
/// bitcode.
Result<void> linkLibdevice(llvm::Module &module);

} // namespace pantile
