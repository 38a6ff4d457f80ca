//===- BuiltinDocs.cpp - see BuiltinDocs.h ----------------------------------------------===//
// How:   a function of libdevice takes the types of its overloads, and its operands are the x, y
//        and z of its meaning, unless a row says otherwise.
//===------------------------------------------------------------------------------------===//
#include "frontend/BuiltinDocs.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>

using namespace pantile;
using llvm::StringRef;

namespace {
struct Docs {
  llvm::StringMap<std::string> types, errors;
  llvm::StringMap<LanguageParameter> parameters; ///< by "space.function parameter"

  template <typename Row>
  static void addAll(llvm::StringMap<Row> &rows, StringRef functions, StringRef suffix, Row row) {
    for (StringRef function : llvm::split(functions, ' '))
      rows[(function.contains('.') ? "" : "tl.") + function.str() + suffix.str()] = row;
  }
  Docs() {
#define TYPES(functions, text) addAll<std::string>(types, functions, "", text);
#define ERRORS(functions, text) addAll<std::string>(errors, functions, "", text);
#define PARAMETER(functions, name, type, meaning)                                                  \
  addAll<LanguageParameter>(parameters, functions, " " name, {name, type, meaning});
#include "frontend/BuiltinDocs.def"
  }
};

const Docs &docs() {
  static const Docs instance;
  return instance;
}

StringRef overloadsOf(StringRef libdeviceName) {
  static const llvm::StringMap<StringRef> overloads = {
#define LIBDEVICE(name, parameters, overloads, doc) {#name, overloads},
#include "frontend/Libdevice.def"
  };
  return overloads.lookup(libdeviceName);
}

/// The types of the overloads at a position, each once.
std::string typesAt(StringRef overloads, size_t position) {
  llvm::SmallVector<StringRef> found;
  for (StringRef overload : llvm::split(overloads, "; ")) {
    llvm::SmallVector<StringRef> operands;
    overload.split(" > ").first.split(operands, ' ');
    if (position < operands.size() && !llvm::is_contained(found, operands[position]))
      found.push_back(operands[position]);
  }
  return "tile or scalar of " + llvm::join(found, ", ");
}
} // namespace

std::string pantile::documentedTypes(StringRef space, StringRef name) {
  return docs().types.lookup((space + "." + name).str());
}

std::string pantile::documentedErrors(StringRef space, StringRef name) {
  return docs().errors.lookup((space + "." + name).str());
}

LanguageParameter pantile::documentedParameter(StringRef space, StringRef name, StringRef parameter,
                                               size_t position) {
  LanguageParameter found = docs().parameters.lookup((space + "." + name + " " + parameter).str());
  found.name = parameter.str();
  const StringRef overloads = space == "libdevice" ? overloadsOf(name) : StringRef();
  if (overloads.empty())
    return found;
  if (found.meaning.empty() && position < 3)
    found.meaning = std::string("`") + "xyz"[position] + "`";
  if (found.type.empty())
    found.type = typesAt(overloads, position);
  return found;
}
