//===- CLauncher.h - kernels as C: machine code and a launcher each -------------------------===//
// Needs: compiled kernels with the names of their parameters.
// Gives: a header and a C file. The file opens the driver when a kernel is first launched and needs
//        no CUDA header, no Python and no library of ours.
// How:   variants of one name make one function. It takes every parameter that is no constant of
//        all of them, and runs the first variant that suits the device and the arguments: those for
//        exactly this processor first, then those that assume most. Tensor maps are encoded from
//        their recipes as runtime/TensorMap.cpp does; where they do not fit the plain variant runs.
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
  std::string grid;      ///< C expressions, or empty: the caller gives the grid
  std::string symbol;    ///< name in C, or empty: the kernel's
  std::string signature; ///< as it was asked for, for comments
};

struct CFiles {
  std::string header, source;
};

/// `prefix` begins the names of what the files share; `headerName` is what the source includes.
Result<CFiles> launchersInC(const std::vector<CVariant> &variants, const std::string &prefix,
                            const std::string &headerName);

} // namespace pantile
