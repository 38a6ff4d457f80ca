//===- BuiltinDocs.h - documentation of the language's functions ------------------------===//
// Needs: BuiltinDocs.def, and the overloads of Libdevice.def.
// Gives: element types, errors and parameters of a function.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Language.h"
#include <llvm/ADT/StringRef.h>

namespace pantile {

/// The element types that the function of `space` takes and gives; "" if not documented.
std::string documentedTypes(llvm::StringRef space, llvm::StringRef name);
/// The arguments that the function refuses; "" if not documented.
std::string documentedErrors(llvm::StringRef space, llvm::StringRef name);
/// A parameter at a position of the function's signature; its meaning is "" if not documented.
LanguageParameter documentedParameter(llvm::StringRef space, llvm::StringRef name,
                                      llvm::StringRef parameter, size_t position);

} // namespace pantile
