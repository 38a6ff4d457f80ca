//===- mutate_sources.cpp - mutated kernels through lexer, parser and emission ----------===//
// Needs: files with kernels; a count and a seed.
// Gives: the number of mutants that parse and that compile. Status 1, with the mutant on
//        standard error, after a crash, a hang, or tile IR that does not verify.
// How:   a mutant is the source of one kernel of a file, changed in one to six places: bytes,
//        words and lines are lost, doubled, swapped, or taken from another kernel; brackets
//        and blocks are nested deep. Mutant number i depends on the seed and i alone.
//
// Usage: pantile-mutate COUNT SEED [--only NUMBER] FILE...
//===------------------------------------------------------------------------------------===//
#include "frontend/Emit.h"
#include "pantile/Compiler.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/Verifier.h>
#include <random>
#include <sstream>
#include <unistd.h>

using namespace pantile;

namespace {
using Random = std::mt19937_64;

constexpr unsigned hangSeconds = 20;
constexpr int contextLifetime = 200;
std::string current; ///< the mutant that a crash is about

void fail(const char *what) {
  // Async-signal-safe: no streams.
  for (const std::string_view part : {std::string_view(what), std::string_view("\n"),
                                      std::string_view(current), std::string_view("\n")})
    if (write(STDERR_FILENO, part.data(), part.size()) < 0)
      break;
}

void onSignal(int signal) {
  fail(signal == SIGALRM ? "a hang, with this text:" : "a crash, with this text:");
  _exit(1);
}

/// A crash by stack overflow needs another stack to be reported on.
void catchSignals() {
  static char stack[1 << 16];
  const stack_t alternative{stack, 0, sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM})
    sigaction(signal, &action, nullptr);
}

//===- Seeds ----------------------------------------------------------------------------===//

/// The functions of a file, each with its decorators: what starts in the first column with `@`
/// or `def`, and the indented lines after it.
std::vector<std::string> functionsOf(const std::string &path) {
  std::vector<std::string> result;
  std::ifstream file(path);
  bool isInside = false;
  for (std::string line; std::getline(file, line);) {
    const bool isTop = !line.empty() && line[0] != ' ' && line[0] != ')';
    const bool starts = line.starts_with("@triton.jit") || line.starts_with("@pantile.jit");
    if (starts) {
      result.emplace_back();
      isInside = true;
    } else if (isTop && !line.starts_with("def ")) {
      isInside = false;
    }
    if (isInside)
      result.back() += line + "\n";
  }
  return result;
}

//===- Mutations ------------------------------------------------------------------------===//

const char *const words[] = {"for",
                             "in",
                             "while",
                             "if",
                             "elif",
                             "else",
                             "break",
                             "continue",
                             "return",
                             "lambda",
                             "def",
                             "not",
                             "and",
                             "or",
                             "is",
                             "None",
                             "True",
                             "pass",
                             "assert",
                             "with",
                             "as",
                             "try",
                             "class",
                             "import",
                             "global",
                             "yield",
                             "await",
                             "del",
                             "raise",
                             "match",
                             "case",
                             ":",
                             ",",
                             "(",
                             ")",
                             "[",
                             "]",
                             "{",
                             "}",
                             "=",
                             "==",
                             ":=",
                             "->",
                             "@",
                             "**",
                             "//",
                             "<<",
                             ">>",
                             "~",
                             "*",
                             "-",
                             "+",
                             "%",
                             "&",
                             "|",
                             "^",
                             "<",
                             ">=",
                             "!=",
                             ".",
                             "...",
                             "\"",
                             "'",
                             "f\"{",
                             "}\"",
                             "\\",
                             "#",
                             "\n",
                             "    ",
                             "\t",
                             "0",
                             "1",
                             "-1",
                             "0.5",
                             "1e400",
                             "0x",
                             "1_",
                             "99999999999999999999",
                             "2**40",
                             "tl.",
                             "tl.load",
                             "tl.arange(0, 16)",
                             "tl.sum",
                             "tl.where",
                             "tl.static_range(4)",
                             "range(3)",
                             "tl.constexpr",
                             "tl.zeros((4, 4), tl.float32)",
                             "tl.dot",
                             "tl.reduce",
                             ".to(tl.float16)",
                             ".shape",
                             "[:, None]",
                             "[None]",
                             "x",
                             "zip",
                             "sum",
                             "sorted",
                             "f'{1:>3}'",
                             "*args"};

struct Mutator {
  Random random;
  const std::vector<std::string> &seeds;

  size_t below(size_t limit) { return limit ? random() % limit : 0; }
  size_t place(const std::string &text) { return below(text.size() + 1); }

  std::pair<size_t, size_t> word(const std::string &text) {
    size_t begin = place(text);
    while (begin > 0 && isalnum(static_cast<unsigned char>(text[begin - 1])))
      --begin;
    size_t end = begin;
    while (end < text.size() && isalnum(static_cast<unsigned char>(text[end])))
      ++end;
    return {begin, std::max<size_t>(end - begin, end < text.size())};
  }
  std::pair<size_t, size_t> line(const std::string &text) {
    const size_t at = place(text);
    const size_t before = at ? text.rfind('\n', at - 1) : std::string::npos;
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    const size_t after = text.find('\n', at);
    return {begin, (after == std::string::npos ? text.size() : after + 1) - begin};
  }
  std::string nested() {
    const size_t depth = below(8) ? below(30) : below(12000);
    static constexpr const char *openers[] = {"(",  "[",     "-", "not ",
                                              "f(", "x if ", "{", "lambda: "};
    const std::string opener = openers[below(8)];
    std::string text;
    for (size_t i = 0; i < depth; ++i)
      text += opener;
    text += "1";
    if (below(2) && (opener.ends_with("(") || opener == "["))
      text += std::string(depth, opener == "[" ? ']' : ')');
    return text;
  }
  std::string nestedBlocks() {
    const size_t depth = below(8) ? below(10) : below(400);
    std::string text;
    for (size_t i = 0; i < depth; ++i)
      text += std::string(4 * (i + 1), ' ') + (below(2) ? "if x:\n" : "for i in range(9):\n");
    return text + std::string(4 * (depth + 1), ' ') + "x = 1\n";
  }
  void change(std::string &text) {
    const auto [wordAt, wordSize] = word(text);
    const auto [lineAt, lineSize] = line(text);
    switch (below(14)) {
    case 0:
      text.erase(wordAt, wordSize);
      break;
    case 1:
      text.insert(wordAt, text.substr(wordAt, wordSize) + " ");
      break;
    case 2:
      text.replace(wordAt, wordSize, words[below(std::size(words))]);
      break;
    case 3:
      text.insert(place(text), words[below(std::size(words))]);
      break;
    case 4:
      text.erase(lineAt, lineSize);
      break;
    case 5:
      text.insert(lineAt, text.substr(lineAt, lineSize));
      break;
    case 6:
      text.insert(place(text), 1, static_cast<char>(below(256)));
      break;
    case 7:
      text.insert(lineAt, below(2) ? "    " : "  ");
      break;
    case 8:
      text.insert(wordAt, nested());
      break;
    case 9:
      text.insert(lineAt, nestedBlocks());
      break;
    case 10: {
      const std::string &other = seeds[below(seeds.size())];
      const auto [from, size] = line(other);
      text.insert(lineAt, other.substr(from, size));
      break;
    }
    case 11: {
      const auto [otherAt, otherSize] = word(text);
      text.replace(wordAt, wordSize, text.substr(otherAt, otherSize));
      break;
    }
    case 12:
      text.resize(place(text));
      break;
    default: {
      const std::string moved = text.substr(lineAt, lineSize);
      text.erase(lineAt, lineSize);
      text.insert(line(text).first, moved);
    }
    }
  }
};

std::string mutantOf(const std::vector<std::string> &seeds, uint64_t seed, uint64_t number) {
  Mutator mutator{Random(seed * 1000003 + number), seeds};
  std::string text = seeds[mutator.below(seeds.size())];
  const size_t changes = 1 + mutator.below(6);
  for (size_t i = 0; i < changes; ++i)
    mutator.change(text);
  if (mutator.below(4) == 0)
    text += seeds[mutator.below(seeds.size())];
  return "import triton\nimport triton.language as tl\n\n" + text;
}

//===- One mutant -----------------------------------------------------------------------===//

/// Pointers by their names, constants where the kernel wants them, else integers.
Specialization specialize(const std::vector<ParameterInfo> &parameters) {
  Specialization result;
  for (const ParameterInfo &parameter : parameters) {
    const std::string &name = parameter.name;
    const bool isPointer = name.find("ptr") != name.npos || name.size() == 1;
    ArgSpec spec;
    if (parameter.isConstexpr)
      spec.value = parameter.hasDefault ? parameter.defaultValue : ConstValue(int64_t(16));
    else
      spec = *parseArgSpec(isPointer ? "*fp32:16" : "i32");
    result.args.push_back(std::move(spec));
  }
  return result;
}

enum class Outcome { Refused, Scanned, Emitted, Invalid };

Outcome tryOne(mlir::MLIRContext &context, const std::string &text) {
  const Result<std::vector<KernelListing>> kernels = listKernels(text, "mutant.py");
  if (!kernels || kernels->empty())
    return Outcome::Refused;
  ScanOptions scan;
  scan.kernel = kernels->front().name;
  const Result<Program> program = scanFile(text, "mutant.py", scan);
  if (!program)
    return Outcome::Refused;
  const Result<std::vector<ParameterInfo>> parameters = kernelParameters(*program);
  if (!parameters)
    return Outcome::Scanned;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  Options options;
  options.target = "sm_90a";
  auto module =
      emitTileIR(context, *program, specialize(*parameters), options, sources, diagnostics);
  if (!module)
    return diagnostics.hasErrors() ? Outcome::Scanned : Outcome::Invalid;
  return mlir::succeeded(mlir::verify(*module)) ? Outcome::Emitted : Outcome::Invalid;
}

int run(uint64_t first, uint64_t count, uint64_t seed, const std::vector<std::string> &seeds) {
  std::array<size_t, 4> outcomes = {};
  std::unique_ptr<mlir::MLIRContext> context;
  double slowest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % contextLifetime == 0)
      context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    current = mutantOf(seeds, seed, first + i);
    alarm(hangSeconds);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = tryOne(*context, current);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, taken.count());
    ++outcomes[static_cast<size_t>(outcome)];
    if (outcome == Outcome::Invalid) {
      fail("invalid tile IR, of this text:");
      return 1;
    }
  }
  alarm(0);
  std::cout << count << " mutants of " << seeds.size() << " kernels: " << outcomes[0]
            << " do not parse, " << outcomes[1] << " do not compile, " << outcomes[2]
            << " compile; the slowest took " << slowest << " s\n";
  return 0;
}
} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> seeds, arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr << "usage: pantile-mutate COUNT SEED [--only NUMBER] FILE...\n";
    return 2;
  }
  uint64_t count = std::stoull(arguments[0]), seed = std::stoull(arguments[1]), first = 0;
  size_t file = 2;
  if (arguments[2] == "--only" && arguments.size() > 4) {
    first = std::stoull(arguments[3]);
    count = 1;
    file = 4;
  }
  for (; file < arguments.size(); ++file)
    for (std::string &function : functionsOf(arguments[file]))
      seeds.push_back(std::move(function));
  if (seeds.empty()) {
    std::cerr << "no kernels in these files\n";
    return 2;
  }
  catchSignals();
  return run(first, count, seed, seeds);
}
