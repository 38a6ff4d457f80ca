//===- Language.cpp - see pantile/Language.h --------------------------------------------===//
// How:   a function that is written in the language has no signature in Builtins.def: the
//        parameter list of its text is taken, line breaks joined.
//===------------------------------------------------------------------------------------===//
#include "pantile/Language.h"
#include "frontend/BuiltinDocs.h"
#include "frontend/BuiltinTable.h"
#include "frontend/Stdlib.h"

using namespace pantile;

namespace {
/// The text between the parentheses of `def name(...)`.
std::string parametersOf(llvm::StringRef text) {
  std::string result;
  int depth = 0;
  for (char c : text) {
    if (c == ')' && --depth == 0)
      break;
    const bool repeatedSpace = (c == ' ' || c == '\n') && (result.empty() || result.back() == ' ');
    if (depth > 0 && !repeatedSpace)
      result += c == '\n' ? ' ' : c;
    if (c == '(')
      ++depth;
  }
  return result;
}

/// The names of a signature, without defaults and stars.
std::vector<std::string> parameterNames(llvm::StringRef signature) {
  std::vector<std::string> names;
  while (!signature.empty()) {
    auto [part, rest] = signature.split(", ");
    signature = rest;
    names.push_back(part.ltrim('*').take_until([](char c) { return c == '=' || c == ':'; }).str());
  }
  return names;
}

std::vector<LanguageParameter> documentedParameters(const BuiltinRow &row,
                                                    llvm::StringRef signature) {
  std::vector<LanguageParameter> result;
  for (const std::string &name : parameterNames(signature))
    result.push_back(documentedParameter(row.space, row.name, name, result.size()));
  return result;
}
} // namespace

std::vector<LanguageFunction> pantile::languageFunctions() {
  std::vector<LanguageFunction> result;
  for (const BuiltinRow &row : allBuiltins()) {
    std::string signature = row.signature;
    if (!row.handler)
      if (std::optional<size_t> index = findLibraryFunction(row.name))
        signature = parametersOf(libraryFunctions()[*index].text);
    result.push_back({row.space, row.name, signature, row.doc, row.isMethod,
                      documentedTypes(row.space, row.name), documentedErrors(row.space, row.name),
                      documentedParameters(row, signature)});
  }
  return result;
}
