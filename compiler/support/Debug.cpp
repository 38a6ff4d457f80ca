//===- Debug.cpp - looking into the compiler while it runs ------------------------------===//
#include "support/Debug.h"
#include <cstdlib>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Debug.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>
#include <vector>

// Debug.h makes a macro of it where LLVM is built without assertions.
#undef setCurrentDebugTypes
namespace llvm {
void setCurrentDebugTypes(const char **types, unsigned count);
}

namespace pantile {

void enableDebugTopics() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char *list = std::getenv("PANTILE_DEBUG");
    if (!list || !*list)
      return;
    llvm::DebugFlag = true;
    llvm::SmallVector<llvm::StringRef> topics;
    llvm::StringRef(list).split(topics, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    if (topics.size() == 1 && topics.front() == "all")
      return;
    // LLVM copies the names.
    std::vector<std::string> names(topics.begin(), topics.end());
    std::vector<const char *> pointers;
    for (const std::string &name : names)
      pointers.push_back(name.c_str());
    llvm::setCurrentDebugTypes(pointers.data(), pointers.size());
  });
}

Result<void> StageDump::write(std::string_view stage, std::string_view extension,
                              std::string_view text) {
  if (!enabled())
    return {};
  const auto failed = [&](const std::string &path, std::error_code code) {
    return Error{ErrorKind::Resources, "cannot write `" + path + "`: " + code.message(), "", {}};
  };
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return failed(folder, code);
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, std::to_string(number++) + "_" + std::string(stage) + "." +
                                    std::string(extension));
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  if (!code) {
    out << llvm::StringRef(text);
    out.close();
    code = out.error();
    out.clear_error();
  }
  if (code)
    return failed(std::string(path), code);
  return {};
}

} // namespace pantile
