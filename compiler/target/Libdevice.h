//===- Libdevice.h - functions that come as bitcode -------------------------------------------===//
// Needs: a module that may declare functions of NVIDIA's libdevice (`__nv_*`) or of other bitcode
//        libraries.
// Gives: their definitions, linked in.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include <string>

namespace llvm {
class Module;
}

namespace pantile {

/// On the declaration of a function: the path of the bitcode file that defines it; empty for
/// libdevice and the libraries of the options.
inline constexpr char externLibraryAttribute[] = "pantile-library";

/// PANTILE_LIBDEVICE_PATH or TRITON_LIBDEVICE_PATH alone, else beside each place of the assembler
/// and in Triton's wheel; empty when it is nowhere.
std::string findLibdevice();

/// Does nothing for a module that calls none. Else an error names the function that has no
/// definition, or is called with other types than it takes.
Result<void> linkLibraries(llvm::Module &module, const Options &options);

} // namespace pantile
