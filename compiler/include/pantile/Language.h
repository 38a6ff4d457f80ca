//===- Language.h - the names of the kernel language --------------------------------------===//
// What stubs, completion and reference pages are made of: one row a function, from the same
// table that the compiler looks calls up in.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

struct LanguageFunction {
  std::string space;     ///< "tl", "libdevice", "py" (Python's own), "host" (math, triton)
  std::string name;      ///< "load"
  std::string signature; ///< "pointer, mask=None, ..."
  std::string summary;   ///< one line
  bool isMethod = false; ///< also `x.name(...)`
};

PANTILE_API std::vector<LanguageFunction> languageFunctions();

} // namespace pantile
