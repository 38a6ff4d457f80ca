//===- Reproducer.cpp - write a reproducer when the compiler itself fails ----------===//
// Needs: see Reproducer.h.
// Gives: ReproducerScope, withReproducer, commented, describeOptions.
// How:   Files are named by their content, so one fault leaves one file.
//===-------------------------------------------------------------------------------===//
#include "Reproducer.h"
#include "LaunchAbi.h"
#include "cache/Cache.h"
#include "cache/CacheKey.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdio>
#include <fmt/format.h>
#include <mutex>

namespace pantile {
namespace {

thread_local ReproducerScope *innermost = nullptr;

std::string save(const std::string &text) {
  return Cache::ofProcess().save("reproducers", hexDigest(text).substr(0, 16) + ".mlir", text);
}

} // namespace

/// LLVM's hook for fatal errors. When it returns, LLVM ends the process.
struct FatalError {
  static void handle(void *, const char *reason, bool) {
    std::fprintf(stderr, "pantile: internal error: %s\n", reason);
    ReproducerScope *scope = std::exchange(innermost, nullptr);
    if (!scope)
      return;
    std::string path = save(fmt::format("// fatal error: {}\n{}", reason, scope->describe()));
    if (!path.empty())
      std::fprintf(stderr, "pantile: what was compiled is in `%s`\n", path.c_str());
  }
};

ReproducerScope::ReproducerScope(std::function<std::string()> describe)
    : describe(std::move(describe)), outer(innermost) {
  static std::once_flag installed;
  std::call_once(installed, [] { llvm::install_fatal_error_handler(FatalError::handle); });
  innermost = this;
}

ReproducerScope::~ReproducerScope() { innermost = outer; }

Error withReproducer(Error error, llvm::function_ref<std::string()> describe) {
  if (error.kind != ErrorKind::Internal)
    return error;
  std::string path = save(fmt::format("// {}\n{}", error.message, describe()));
  if (path.empty())
    return error;
  std::string note = fmt::format("this is a fault of pantile; what was compiled is in `{}`", path);
  error.message += "; " + note;
  if (!error.rendered.empty() && error.rendered.back() != '\n')
    error.rendered += '\n';
  error.rendered += "note: " + note + "\n";
  return error;
}

std::string commented(llvm::StringRef text) {
  std::string out;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    out += fmt::format("// {}\n", line.str());
    text = rest;
  }
  return out;
}

namespace {
template <typename T> std::string shown(const T &value) { return fmt::format("{}", value); }
std::string shown(LaunchAbi abi) { return std::string(launchAbiName(abi)); }
std::string shown(const PassNames &passes) { return llvm::join(passes, ","); }

std::string shown(const LibraryPaths &libraries) {
  std::string text;
  for (const auto &[name, path] : libraries)
    text += (text.empty() ? "" : ",") + name + ":" + path;
  return text;
}
} // namespace

std::string describeOptions(const Options &options) {
  std::string text;
#define OPTION(type, member, key, initial, meaning)                                                \
  text += std::string(text.empty() ? "" : " ") + key + "=" + shown(options.member);
#include "pantile/Options.def"
  return text;
}

} // namespace pantile
