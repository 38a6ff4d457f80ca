//===- Language.h - the names of the kernel language --------------------------------------===//
// The source of stubs, completion and reference pages: one row per function, from the table in
// which the compiler looks up calls.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

/// A parameter of a function; its default is in the signature.
struct LanguageParameter {
  std::string name;    ///< "mask"
  std::string type;    ///< "tile or scalar of bool"; "constant" is a compile-time value
  std::string meaning; ///< with unit, legal values, and what `None` stands for
};

/// A function that kernels call.
struct LanguageFunction {
  std::string space;     ///< "tl", "libdevice", "py" (Python's own), "host" (math, triton)
  std::string name;      ///< "load"
  std::string signature; ///< "pointer, mask=None, ..."
  std::string summary;   ///< one line
  bool isMethod = false; ///< also `x.name(...)`
  std::string types;     ///< element types that it takes and gives; may be empty
  std::string errors;    ///< what it refuses; may be empty
  std::vector<LanguageParameter> parameters; ///< in the order of the signature
};

/// Lists all functions, in the order of the table.
PANTILE_API std::vector<LanguageFunction> languageFunctions();

} // namespace pantile
