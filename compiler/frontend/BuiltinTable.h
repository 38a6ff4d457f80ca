//===- BuiltinTable.h - the rows of Builtins.def, by name -------------------------------===//
// Needs: Builtins.def.
// Gives: look-up of an operation and of its parameters with their defaults.
// How:   signatures are read once per process.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Value.h"
#include <llvm/ADT/StringRef.h>
#include <string>
#include <vector>

namespace pantile {

class Emitter;
struct BoundCall;
using BuiltinHandler = Value (*)(Emitter &, const BoundCall &);

struct BuiltinParam {
  std::string name;
  bool isStar = false;     ///< takes all remaining positional arguments
  bool isKeywords = false; ///< takes all remaining keyword arguments; the last one
  bool isRequired = false; ///< has no default
  bool isKeywordOnly = false;
  Value defaultValue;
};

struct BuiltinRow {
  std::string space, name;
  BuiltinHandler handler = nullptr; ///< null: written in the language, in stdlib/
  bool isMethod = false;
  std::string signature, doc;
  std::vector<BuiltinParam> params;
  bool takesKeywords() const { return !params.empty() && params.back().isKeywords; }
};

/// The handlers, defined by family in Emit*.cpp.
#define BUILTIN(space, name, handler, method, signature, doc)                                      \
  Value handler(Emitter &, const BoundCall &);
#include "frontend/Builtins.def"

/// The row of `name` in a space ("tl", "py", "host"), or null.
const BuiltinRow *findBuiltin(llvm::StringRef space, llvm::StringRef name);
/// The known name of `space` nearest to `name`, or "".
std::string nearestBuiltin(llvm::StringRef space, llvm::StringRef name);
const std::vector<BuiltinRow> &allBuiltins();

} // namespace pantile
