//===- LanguageModules.h - the language's modules, as files import them -----------------===//
// Needs: dotted module names as written in imports.
// Gives: the values of such a module and its attributes in a kernel, as values of a Program.
// How:   `triton` and `pantile` are one module; `language` in it is `tl`.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Program.h"
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// Whether `module` is `triton` or `pantile`, or a submodule.
bool isOwnModule(std::string_view module);

/// A BuiltinRef with a trailing dot for a module that kernels can use, else an OpaqueRef that names
/// it.
ConstValue moduleValue(std::string_view module);

/// `module.attribute`, where `module` is the name of a BuiltinRef with a trailing dot.
ConstValue moduleAttribute(const std::string &module, std::string_view attribute);

/// The names that `from triton.language import *` binds.
std::vector<std::string> languageNames();

/// For a value that is a module of the language: its name, with the trailing dot; else null.
const std::string *asModule(const ConstValue &value);
bool isBuiltin(const ConstValue &value, std::string_view name);

} // namespace pantile
