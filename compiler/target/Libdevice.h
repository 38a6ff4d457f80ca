//===- Libdevice.h - functions that come as bitcode -------------------------------------------===//
// Needs: a module that may declare functions of NVIDIA's libdevice (`__nv_*`) or of other bitcode
//        libraries.
// Gives: their definitions, linked in.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace pantile {

/// On the declaration of a function: the path of the bitcode file that defines it; empty for
/// libdevice and the libraries of the options.
inline constexpr char externLibraryAttribute[] = "pantile-library";

/// On a function of a user's library that says `noinline`: calls of it stay calls.
inline constexpr char keptCallAttribute[] = "pantile-call";

/// PANTILE_LIBDEVICE_PATH or TRITON_LIBDEVICE_PATH alone, else beside each place of the assembler
/// and in Triton's wheel; empty when it is nowhere.
std::string findLibdevice();

/// A bitcode file that was linked: its path, empty for the libdevice that was found; its digest.
struct LinkedFile {
  std::string path, digest;
};

/// Does nothing for a module that calls none, and else returns the files. An error names the
/// function that has no definition, or is called with other types than it takes.
Result<std::vector<LinkedFile>> linkLibraries(llvm::Module &module, const Options &options);

} // namespace pantile
