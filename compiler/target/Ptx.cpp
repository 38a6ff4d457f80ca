//===- Ptx.cpp - PTX to machine code: choice of the assembler, and its messages -----------===//
// Needs: see Ptx.h.
// Gives: Assembler::start, processAssembler, splitOptions, readResourceUsage, assemblerError.
// How:   PANTILE_ASSEMBLER (`ptxas`, `nvjitlink`, `driver`) allows one kind only.
//===------------------------------------------------------------------------------------===//
#include "target/Ptx.h"
#include "cuda/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
#include <fmt/format.h>

namespace pantile {
namespace {

/// The number directly before `unit` in `text`, 0 if there is none.
int numberBefore(llvm::StringRef text, llvm::StringRef unit) {
  // Messages about wgmma mention registers as well, without a number before.
  for (size_t at = text.find(unit); at != text.npos; at = text.find(unit, at + 1)) {
    llvm::StringRef digits = text.take_front(at).rtrim();
    digits = digits.take_back(digits.size() - (digits.find_last_not_of("0123456789") + 1));
    int value = 0;
    if (!digits.getAsInteger(10, value))
      return value;
  }
  return 0;
}

/// Why wgmma is serialised, from the messages C7510 to C7519; empty: there is none.
std::string serialisedBecause(llvm::StringRef text) {
  llvm::StringRef reason = text.split("wgmma.mma_async instructions are serialized due to ").second;
  reason = reason.take_until([](char c) { return c == '\n'; });
  reason = reason.split(" in the function '").first.rtrim();
  std::string out = reason.str(); // the assembler's message has two spaces there
  for (size_t at; (at = out.find("  ")) != out.npos;)
    out.erase(at, 1);
  return out;
}

/// For an assembler that needs no preparation.
struct LateRun : AssemblerRun {
  LateRun(const Assembler &assembler, const Options &options)
      : assembler(assembler), options(options) {}
  Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName) override {
    return assembler.assemble(ptx, kernelName, options);
  }
  const Assembler &assembler;
  const Options options;
};

Result<std::unique_ptr<Assembler>> choose() {
  const char *variable = std::getenv("PANTILE_ASSEMBLER");
  llvm::StringRef only = variable ? variable : "";
  int newest = Driver::installedVersion();
  std::string reasons;
  auto attempt = [&](llvm::StringRef kind, auto find) -> std::unique_ptr<Assembler> {
    if (!only.empty() && only != kind)
      return nullptr;
    Result<std::unique_ptr<Assembler>> found = find();
    if (found)
      return std::move(*found);
    reasons += (reasons.empty() ? "" : "; ") + found.error().message;
    return nullptr;
  };
  if (auto found = attempt("ptxas", [&] { return findPtxas(newest); }))
    return found;
  if (auto found = attempt("nvjitlink", [&] { return findNvJitLink(newest); }))
    return found;
  if (auto found = attempt("driver", [&] { return findDriverLinker(); }))
    return found;
  return makeError(
      ErrorKind::Assembler,
      fmt::format(
          "nothing found to assemble PTX: {}. Install CUDA's `ptxas` or set PANTILE_PTXAS_PATH",
          reasons));
}

} // namespace

std::unique_ptr<AssemblerRun> Assembler::start(const Options &options) const {
  return std::make_unique<LateRun>(*this, options);
}

const Result<std::unique_ptr<Assembler>> &processAssembler() {
  static const auto *assembler = new Result<std::unique_ptr<Assembler>>(choose());
  return *assembler;
}

std::vector<std::string> splitOptions(const Options &options) {
  std::vector<std::string> words;
  llvm::StringRef rest = llvm::StringRef(options.assemblerOptions).ltrim();
  while (!rest.empty()) {
    auto [word, next] = llvm::getToken(rest);
    words.push_back(word.str());
    rest = next.ltrim();
  }
  return words;
}

void readResourceUsage(std::string_view log, Cubin &cubin) {
  llvm::StringRef text(log.data(), log.size());
  cubin.registers = numberBefore(text, " registers");
  cubin.spills = numberBefore(text, " bytes spill stores");
  cubin.serialised = serialisedBecause(text);
}

Error assemblerError(std::string_view assembler, const std::string &kernelName,
                     std::string_view log) {
  llvm::StringRef rest(log.data(), log.size()), first;
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    rest = next;
    if (!line.contains("error") && !line.contains("fatal"))
      continue;
    first = line.trim();
    break;
  }
  if (first.empty())
    first = llvm::StringRef(log.data(), log.size()).trim().split('\n').first;
  bool resources = first.contains("uses too much") || first.contains("too many resources");
  Error error =
      makeError(resources ? ErrorKind::Resources : ErrorKind::Assembler,
                fmt::format("{} refuses kernel `{}`: {}", assembler, kernelName, first.str()));
  error.rendered += "\n";
  error.rendered += log;
  return error;
}

} // namespace pantile
