//===- Stdlib.cpp - see Stdlib.h --------------------------------------------------------===//
#include "frontend/Stdlib.h"
#include <llvm/ADT/StringMap.h>

using namespace pantile;
using llvm::StringRef;

namespace {
struct EmbeddedFile {
  const char *name, *text;
};
const EmbeddedFile files[] = {
#include "frontend/StdlibFiles.inc"
};

struct Library {
  std::vector<FunctionSource> functions;
  llvm::StringMap<size_t> byName;

  void add(StringRef text, const char *file, int firstLine) {
    FunctionSource source;
    source.name = text.drop_front(4).take_until([](char c) { return c == '('; }).str();
    source.text = text.str();
    source.file = std::string("<pantile>/") + file;
    source.firstLine = firstLine;
    byName[source.name] = functions.size();
    functions.push_back(std::move(source));
  }

  /// A function starts at `def` in column 1 and ends at the next one.
  void split(const EmbeddedFile &file) {
    StringRef rest = file.text;
    int line = 1, defLine = 0;
    const char *start = nullptr;
    while (!rest.empty()) {
      StringRef current = rest.split('\n').first;
      if (current.starts_with("def ")) {
        if (start)
          add(StringRef(start, rest.data() - start), file.name, defLine);
        start = rest.data();
        defLine = line;
      }
      rest = rest.drop_front(std::min(rest.size(), current.size() + 1));
      ++line;
    }
    if (start)
      add(StringRef(start, rest.data() - start), file.name, defLine);
  }

  Library() {
    for (const EmbeddedFile &file : files)
      split(file);
  }
};

const Library &library() {
  static const Library instance;
  return instance;
}
} // namespace

const std::vector<FunctionSource> &pantile::libraryFunctions() { return library().functions; }

std::optional<size_t> pantile::findLibraryFunction(StringRef name) {
  auto found = library().byName.find(name);
  return found == library().byName.end() ? std::nullopt : std::optional(found->second);
}
