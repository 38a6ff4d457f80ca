//===- BuiltinDocs.h - what documentation says of the language's functions --------------===//
// Needs: BuiltinDocs.def, and the overloads of Libdevice.def.
// Gives: element types, errors and parameters of a function.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Language.h"
#include <llvm/ADT/StringRef.h>

namespace pantile {

/// The element types that `space`'s function takes and gives; "" where nothing is written.
std::string documentedTypes(llvm::StringRef space, llvm::StringRef name);
/// What the function refuses; "" where nothing is written.
std::string documentedErrors(llvm::StringRef space, llvm::StringRef name);
/// A parameter at a position of the function's signature; its meaning is "" where nothing is written.
LanguageParameter documentedParameter(llvm::StringRef space, llvm::StringRef name,
                                      llvm::StringRef parameter, size_t position);

} // namespace pantile
