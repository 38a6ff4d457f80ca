//===- CLauncher.h - kernels as C: machine code and launchers --------------------------------===//
// Needs: compiled kernels with the names of their parameters.
// Gives: a header and a C file. The file opens the driver when a kernel is first launched and needs
//        no CUDA header, no Python and no library of ours.
// How:   Variants of one name become one function. Its parameters are those that are not constant
//        in all variants. It runs the first variant that fits the device and the arguments: those
//        for exactly this processor first, then those that assume most. Tensor maps are encoded
//        from their recipes as in runtime/TensorMap.cpp; if they do not fit, the plain variant
//        runs.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <string>
#include <vector>

namespace pantile {

struct CVariant {
  Kernel kernel;
  Kernel plain; ///< without tensor maps; may be null
  std::vector<ParameterInfo> parameters;
  std::string grid;           ///< C expressions, or empty: the caller passes the grid
  std::string symbol;         ///< name in C, or empty: the kernel's name
  std::string signature;      ///< as requested, for comments
  bool isCooperative = false; ///< all programs run at once, or none is launched
};

struct CFiles {
  std::string header, source;
};

/// Names that the files have in common start with `prefix`; the source includes `headerName`.
Result<CFiles> launchersInC(const std::vector<CVariant> &variants, const std::string &prefix,
                            const std::string &headerName);

} // namespace pantile
