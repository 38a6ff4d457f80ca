//===- Ptxas.cpp - PTX to machine code by the program `ptxas` -----------------------------===//
// Needs: see Ptx.h.
// Gives: findPtxas.
// How:   One process per kernel; if the caller requests it, started while LLVM still generates the
//        PTX. Querying the version costs a process, too, so it is cached under the identity of the
//        program's file.
//===------------------------------------------------------------------------------------===//
#include "cache/Cache.h"
#include "cache/CacheKey.h"
#include "target/AssemblerSearch.h"
#include "target/Program.h"
#include "target/Ptx.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include <fmt/format.h>
#include <optional>

namespace fs = llvm::sys::fs;

namespace pantile {
namespace {

/// "13.0" and "V13.0.88" from `ptxas --version`.
struct PtxasVersion {
  int number = 0; ///< 1000 * major + 10 * minor, the driver's format
  std::string full;
};

std::optional<PtxasVersion> parseVersion(llvm::StringRef text) {
  PtxasVersion version;
  llvm::StringRef rest = text.split("release ").second;
  int major, minor;
  if (rest.consumeInteger(10, major) || !rest.consume_front(".") || rest.consumeInteger(10, minor))
    return std::nullopt;
  version.number = 1000 * major + 10 * minor;
  rest.consume_front(", ");
  version.full = rest.take_until([](char c) { return c == '\n' || c == ' '; }).str();
  return version;
}

std::optional<PtxasVersion> versionOf(const std::string &program) {
  Cache cache = Cache::ofProcess();
  std::string key = hexDigest("ptxas --version " + fileIdentity(program));
  if (std::optional<std::string> known = cache.load(key))
    return parseVersion(*known);
  ProgramRun run = runProgram(program, {"--version"});
  std::optional<PtxasVersion> version = run.status == 0 ? parseVersion(run.log) : std::nullopt;
  if (version)
    cache.store(key, run.log, EntryKind::Note);
  return version;
}

class Ptxas : public Assembler {
public:
  Ptxas(const std::string &program, const PtxasVersion &version)
      : Assembler(fmt::format("ptxas {} ({})", version.full, program), "ptxas " + version.full),
        program(program) {}

  Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName,
                         const Options &options) const override {
    TemporaryFile input("ptx"), output("cubin");
    std::error_code failed = input.error ? input.error : output.error;
    if (failed)
      return makeError(ErrorKind::Assembler, "no temporary file: " + failed.message());
    failed = input.write({ptx.data(), ptx.size()});
    if (failed)
      return makeError(ErrorKind::Assembler, fmt::format("cannot write `{}`: {}",
                                                         input.path.str().str(), failed.message()));
    ProgramRun run =
        runProgram(program, arguments(options, input.path.str().str(), output.path.str().str()));
    if (run.status != 0)
      return assemblerError("ptxas", kernelName, run.log);
    return cubinOf(output, std::move(run));
  }

  std::unique_ptr<AssemblerRun> start(const Options &options) const override {
    auto run = std::make_unique<EarlyRun>(*this, options);
    if (run->isStarted)
      return run;
    return Assembler::start(options);
  }

private:
  /// For a small kernel, `ptxas` spends the first tenth of its time before it opens its input.
  struct EarlyRun : AssemblerRun {
    EarlyRun(const Ptxas &ptxas, const Options &options)
        : ptxas(ptxas), options(options), output("cubin") {
      isStarted = !output.error && early.start(ptxas.program, arguments(options, early.inputPath(),
                                                                        output.path.str().str()));
    }

    Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName) override {
      ProgramRun run = early.finish({ptx.data(), ptx.size()});
      // Also for a program that takes regular files only, and for its messages about bad input.
      if (run.status != 0)
        return ptxas.assemble(ptx, kernelName, options);
      return cubinOf(output, std::move(run));
    }

    const Ptxas &ptxas;
    const Options options;
    TemporaryFile output;
    EarlyProgram early;
    bool isStarted;
  };

  static Cubin cubinOf(const TemporaryFile &output, ProgramRun run) {
    Cubin cubin;
    cubin.bytes = output.read();
    cubin.log = std::move(run.log);
    readResourceUsage(cubin.log, cubin);
    return cubin;
  }

  static std::vector<std::string> arguments(const Options &options, std::string input,
                                            std::string output) {
    std::vector<std::string> out = {"-v", "--gpu-name=" + options.target};
    if (options.lineInfo)
      out.push_back("-lineinfo");
    if (!options.enableFpFusion)
      out.push_back("--fmad=false");
    if (options.maxRegisters > 0)
      out.push_back(fmt::format("--maxrregcount={}", options.maxRegisters));
    for (const std::string &option : splitOptions(options))
      out.push_back(option);
    out.insert(out.end(), {std::move(input), "-o", std::move(output)});
    return out;
  }

  const std::string program;
};

} // namespace

Result<std::unique_ptr<Assembler>> findPtxas(int maxVersion) {
  std::string refused;
  for (const std::string &candidate : ptxasCandidates()) {
    if (!fs::can_execute(candidate))
      continue;
    std::optional<PtxasVersion> version = versionOf(candidate);
    if (!version)
      refused += fmt::format("; `{}` does not report its version", candidate);
    else if (maxVersion && version->number / 1000 > maxVersion / 1000)
      refused += fmt::format("; `{}` is of CUDA {}, the driver of {}", candidate,
                             version->number / 1000, maxVersion / 1000);
    else
      return std::unique_ptr<Assembler>(new Ptxas(candidate, *version));
  }
  return makeError(ErrorKind::Assembler, "no usable `ptxas`" + refused);
}

} // namespace pantile
