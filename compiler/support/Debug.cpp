//===- Debug.cpp - numbered dumps of the stages of a compilation --------------------------===//
#include "support/Debug.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

namespace pantile {

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
