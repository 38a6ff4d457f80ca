//===- Libdevice.h - link functions of bitcode libraries ------------------------------===//
// Needs: a module that may declare functions of NVIDIA's libdevice (`__nv_*`) or of other bitcode
//        libraries.
// Gives: the module with their definitions.
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

/// Attribute of a declaration: the path of the bitcode file that defines the function; empty for
/// libdevice and the libraries of the options.
inline constexpr char externLibraryAttribute[] = "pantile-library";

/// Attribute of a function of a user's library that is `noinline`: calls of it stay calls.
inline constexpr char keptCallAttribute[] = "pantile-call";

/// PANTILE_LIBDEVICE_PATH or TRITON_LIBDEVICE_PATH if set; else found next to a candidate for the
/// assembler or in Triton's wheel; empty if not found.
std::string findLibdevice();

/// A bitcode file that was linked: its path (empty for libdevice) and its digest.
struct LinkedFile {
  std::string path, digest;
};

/// Returns the files that it has linked; does nothing for a module that needs none. An error names
/// the function that has no definition, or is called with other types than it takes.
Result<std::vector<LinkedFile>> linkLibraries(llvm::Module &module, const Options &options);

} // namespace pantile
