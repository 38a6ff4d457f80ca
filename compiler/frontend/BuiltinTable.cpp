//===- BuiltinTable.cpp - see BuiltinTable.h --------------------------------------------===//
#include "frontend/BuiltinTable.h"
#include <cassert>
#include <cstdlib>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

using namespace pantile;

namespace {
Value parseDefault(llvm::StringRef text) {
  if (text == "None")
    return None();
  if (text == "True" || text == "False")
    return text == "True";
  if (text == "()")
    return Value::tuple({});
  if (text.size() >= 2 && text.front() == '\'') {
    std::string unquoted = text.drop_front().drop_back().str();
    return unquoted == "\\n" ? std::string("\n") : unquoted;
  }
  int64_t integer;
  if (!text.getAsInteger(10, integer))
    return BigInt(integer);
  auto dtype = parseDType(std::string_view(text.data(), text.size()));
  assert(dtype && "a default in Builtins.def is a literal");
  return *dtype;
}

std::vector<BuiltinParam> parseSignature(llvm::StringRef text) {
  std::vector<BuiltinParam> params;
  bool afterStar = false;
  while (!text.empty()) {
    auto [part, rest] = text.split(", ");
    text = rest;
    BuiltinParam param;
    param.isKeywords = part.consume_front("**");
    param.isStar = !param.isKeywords && part.consume_front("*");
    auto [name, value] = part.split('=');
    param.name = name.str();
    param.isRequired = !param.isStar && !param.isKeywords && !part.contains('=');
    param.isKeywordOnly = afterStar;
    if (part.contains('='))
      param.defaultValue = parseDefault(value);
    afterStar |= param.isStar;
    params.push_back(std::move(param));
  }
  return params;
}

struct Table {
  std::vector<BuiltinRow> rows;
  llvm::StringMap<size_t> byName;

  void add(const char *space, const char *name, BuiltinHandler handler, bool isMethod,
           const char *signature, const char *doc) {
    byName[std::string(space) + "." + name] = rows.size();
    rows.push_back({space, name, handler, isMethod, signature, doc, parseSignature(signature)});
  }
  Table() {
#define BUILTIN(space, name, handler, method, signature, doc)                                      \
  add(#space, #name, handler, method, signature, doc);
#define LIBRARY(name, method, doc) add("tl", #name, nullptr, method, "", doc);
#include "frontend/Builtins.def"
  }
};

const Table &table() {
  static const Table instance;
  return instance;
}
} // namespace

const BuiltinRow *pantile::findBuiltin(llvm::StringRef space, llvm::StringRef name) {
  auto found = table().byName.find((space + "." + name).str());
  return found == table().byName.end() ? nullptr : &table().rows[found->second];
}

std::string pantile::nearestBuiltin(llvm::StringRef space, llvm::StringRef name) {
  std::string best;
  unsigned bestDistance = name.size() > 4 ? 3 : name.size() > 2 ? 2 : 0;
  for (const BuiltinRow &row : table().rows) {
    unsigned distance = row.space == space ? name.edit_distance(row.name) : bestDistance;
    if (distance < bestDistance) {
      best = row.name;
      bestDistance = distance;
    }
  }
  return best;
}

const std::vector<BuiltinRow> &pantile::allBuiltins() { return table().rows; }
