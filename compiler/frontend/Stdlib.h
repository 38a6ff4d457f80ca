//===- Stdlib.h - the library functions that are written in the language ----------------===//
// Needs: compiler/stdlib/*.py, embedded when the library is built.
// Gives: each function's source, under its name, ready for the parser.
// How:   a file is cut at each top-level `def`. Its functions see `tl`, `math` and each other.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Program.h"
#include <llvm/ADT/StringRef.h>
#include <optional>
#include <vector>

namespace pantile {

const std::vector<FunctionSource> &libraryFunctions();
std::optional<size_t> findLibraryFunction(llvm::StringRef name);

} // namespace pantile
