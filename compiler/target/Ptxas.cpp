//===- Ptxas.cpp - PTX to machine code by the program `ptxas` -----------------------------===//
// Needs: see Ptx.h.
// Gives: findPtxas.
// How:   one process a kernel, files in the temporary directory. The version costs a process too,
//        so it is kept in the cache under the identity of the program's file.
//===------------------------------------------------------------------------------------===//
#include "runtime/Cache.h"
#include "runtime/CacheKey.h"
#include "target/AssemblerSearch.h"
#include "target/Ptx.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace fs = llvm::sys::fs;

namespace pantile {
namespace {

/// A file in the temporary directory that goes with its owner.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix) {
    error = fs::createTemporaryFile("pantile", suffix, path);
  }
  ~TemporaryFile() {
    if (!error)
      fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  std::string read() const {
    auto buffer =
        llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  llvm::SmallString<128> path;
  std::error_code error;
};

struct Run {
  int status;      ///< 0: success
  std::string log; ///< standard output and error
};

/// This process's environment, by which the C library of a program takes memory in large pieces:
/// page faults are a tenth of an assembler's time. What the user says of the C library stands.
llvm::SmallVector<llvm::StringRef> environmentOfPrograms() {
  llvm::SmallVector<llvm::StringRef> variables;
  for (char **variable = environ; variable && *variable; ++variable)
    variables.push_back(*variable);
  if (!std::getenv("GLIBC_TUNABLES"))
    variables.push_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:"
                        "glibc.malloc.trim_threshold=1073741824");
  return variables;
}

Run runProgram(const std::string &program, llvm::ArrayRef<std::string> arguments) {
  TemporaryFile log("log");
  if (log.error)
    return {-1, "no temporary file: " + log.error.message()};
  llvm::SmallVector<llvm::StringRef> argv = {program};
  argv.append(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log.path.str(), log.path.str()};
  std::string failure;
  const llvm::SmallVector<llvm::StringRef> environment = environmentOfPrograms();
  int status = llvm::sys::ExecuteAndWait(program, argv, environment, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  return {status, log.read() + failure};
}

/// "13.0" and "V13.0.88" from `ptxas --version`.
struct PtxasVersion {
  int number = 0; ///< 1000 * major + 10 * minor, as the driver counts
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
  Run run = runProgram(program, {"--version"});
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
    if (input.error || output.error)
      return makeError(ErrorKind::Assembler,
                       "no temporary file: " +
                           (input.error ? input.error : output.error).message());
    {
      std::error_code failed;
      llvm::raw_fd_ostream stream(input.path, failed);
      stream << llvm::StringRef(ptx.data(), ptx.size());
      stream.close();
      if (failed || stream.has_error()) {
        stream.clear_error();
        return makeError(ErrorKind::Assembler,
                         fmt::format("cannot write `{}`", input.path.str().str()));
      }
    }
    Run run =
        runProgram(program, arguments(options, input.path.str().str(), output.path.str().str()));
    if (run.status != 0)
      return assemblerError("ptxas", kernelName, run.log);
    Cubin cubin;
    cubin.bytes = output.read();
    cubin.log = std::move(run.log);
    readResourceUsage(cubin.log, cubin);
    return cubin;
  }

private:
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
      refused += fmt::format("; `{}` does not tell its version", candidate);
    else if (maxVersion && version->number / 1000 > maxVersion / 1000)
      refused += fmt::format("; `{}` is of CUDA {}, the driver of {}", candidate,
                             version->number / 1000, maxVersion / 1000);
    else
      return std::unique_ptr<Assembler>(new Ptxas(candidate, *version));
  }
  return makeError(ErrorKind::Assembler, "no usable `ptxas`" + refused);
}

} // namespace pantile
