//===- Compiler.cpp - source text to a kernel, the cache first ------------------------------===//
// Needs: see pantile/Compiler.h.
// Gives: Compiler, versionText.
// How:   a GPU kernel's key is made, then looked for on disk, where an entry whose dependencies
//        differ now leads to another one (Dependencies), then the stages run (Compilation).
//        Kernels for the CPU are made again: that costs less than a look at the disk.
//        PANTILE_ALWAYS_COMPILE=1 never reads the cache; PANTILE_CACHE_CHECK=1 compiles on every
//        hit and compares.
//===------------------------------------------------------------------------------------===//
#include "pantile/Compiler.h"
#include "Compilation.h"
#include "Dependencies.h"
#include "Pipeline.h"
#include "RenamedPasses.h"
#include "cache/Artifact.h"
#include "cache/Cache.h"
#include "cache/CacheKey.h"
#include "ir/Tile.h"
#include "support/Debug.h"
#include "support/Timing.h"
#include "target/Ptx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

namespace pantile {
namespace {

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value && std::string_view(value) != "0";
}

/// The pass that is to make a mistake, for a name that says so.
std::string plantedIn(const std::string &name) {
#ifdef PANTILE_PLANTS_ERRORS
  return name.substr(0, name.find(plantedError));
#else
  return name;
#endif
}

Result<void> checkPasses(const Options &options) {
  if (options.disabledPasses.empty() && options.enabledPasses.empty())
    return {};
  static const std::vector<PassListing> passes = listPasses();
  auto find = [](const std::string &name) {
    return llvm::find_if(passes, [&](const PassListing &pass) { return pass.name == name; });
  };
  auto refuse = [](const std::string &name, std::string_view what) {
    return makeError(ErrorKind::Unsupported,
                     fmt::format("there is no pass `{}` to {}; `pantilec --list-passes` names them",
                                 name, what));
  };
  for (const std::string &name : options.enabledPasses)
    if (find(plantedIn(name)) == passes.end())
      return refuse(name, "switch on");
  for (const std::string &name : options.disabledPasses) {
    auto known = find(name);
    if (known == passes.end())
      return refuse(name, "leave out");
    if (!known->isOptional)
      return makeError(
          ErrorKind::Unsupported,
          fmt::format("pass `{}` cannot be left out: what comes after needs it", name));
  }
  return {};
}

Result<void> checkOptions(const Options &options) {
  auto refuse = [](std::string message) {
    return makeError(ErrorKind::Unsupported, std::move(message));
  };
  if (options.target != "cpu" && !Target::parse(options.target)) {
    std::string known;
    for (const std::string &name : Target::names())
      known += fmt::format(" `{}`", name);
    return refuse(fmt::format("target `{}` is unknown; there are `cpu`{}", options.target, known));
  }
  if (options.numWarps < 1 || options.numWarps > 32)
    return refuse(fmt::format("`num_warps` is {}, expected 1 to 32", options.numWarps));
  if (options.numStages < 0)
    return refuse(fmt::format("`num_stages` is {}, below 0", options.numStages));
  if (options.numCtas != 1)
    return refuse(fmt::format("`num_ctas` is {}; only 1 is supported", options.numCtas));
  if (options.maxRegisters < 0 || options.maxRegisters > 255)
    return refuse(fmt::format("`maxnreg` is {}, expected 0 to 255", options.maxRegisters));
  return checkPasses(options);
}

Result<void> checkProgram(const Program &program) {
  if (program.kernel < program.functions.size())
    return {};
  return makeError(ErrorKind::Unsupported, "the program has no kernel");
}

/// Whether a kernel from the cache has what was asked for.
bool cacheServes(const Options &options, const Observe &observe) {
  return options.target != "cpu" && observe.stopAfter == Stage::Cubin && observe.dumpDir.empty() &&
         observe.useCache;
}

Error cacheMismatch(const Kernel::Data &fresh) {
  return makeError(ErrorKind::Internal,
                   fmt::format("kernel `{}` compiled again differs from its cache entry {}",
                               fresh.name, fresh.hash));
}

/// The kernel stored under `key`; an entry that is whole but holds another kernel is refused.
std::optional<Kernel::Data> loadKernel(Cache &cache, const std::string &key) {
  std::optional<std::string> bytes = cache.load(key);
  if (!bytes)
    return std::nullopt;
  std::optional<Kernel::Data> data = parseArtifact(*bytes);
  if (data && data->hash == key && !data->cubin.empty())
    return data;
  cache.refuse(key, *bytes, "holds another kernel");
  return std::nullopt;
}

/// The kernel whose dependencies are those of now, looked for from `place` on; `place` becomes the
/// key of its entry, or of the one to make.
std::optional<Kernel::Data> findKernel(Cache &cache, const Dependencies &dependencies,
                                       std::string &place) {
  while (std::optional<Kernel::Data> data = loadKernel(cache, place)) {
    std::optional<std::string> next = dependencies.elsewhere(place, data->dependencies);
    if (!next)
      return data;
    place = std::move(*next);
  }
  return std::nullopt;
}

/// Keeps a kernel, if other processes can compare what it depends on.
void storeKernel(Cache &cache, const Dependencies &dependencies, Kernel::Data &data) {
  std::optional<std::vector<Dependency>> calls = dependencies.calls();
  if (!calls)
    return;
  data.dependencies.insert(data.dependencies.begin(), calls->begin(), calls->end());
  cache.store(data.hash, serializeArtifact(data));
}

void warnOf(Cache &cache, Kernel::Data &data) {
  if (std::string problem = cache.takeProblem(); !problem.empty())
    data.warnings += "warning: " + problem + "\n";
}

/// Compiles the same kernel for launches that tensor maps cannot describe, and one CTA per program.
std::function<Result<Kernel>()> plainCompiler(Program program, Specialization specialization,
                                              Options options) {
  options.launchAbi = LaunchAbi::Triton;
  return [program = std::move(program), specialization = std::move(specialization),
          options = std::move(options)] {
    return Compiler().compile(program, specialization, options);
  };
}

/// Compiles the same kernel with its tiles split over CTAs.
std::function<Result<Kernel>()> streamKCompiler(Program program, Specialization specialization,
                                                Options options) {
  options.enabledPasses.insert("nv-stream-k");
  return [program = std::move(program), specialization = std::move(specialization),
          options = std::move(options)] {
    return Compiler().compile(program, specialization, options);
  };
}

} // namespace

/// What compilations share: only what never changes.
struct Compiler::Impl {
  Impl() { registerTileDialects(dialects); }

  Result<std::shared_ptr<Kernel::Data>> compileFresh(const Program &program,
                                                     const Specialization &specialization,
                                                     const Options &options,
                                                     const Observe &observe) const {
    return Compilation(dialects, program, specialization, options, observe).run();
  }

  Result<std::shared_ptr<Kernel::Data>> compileCached(const Program &program,
                                                      const Specialization &specialization,
                                                      const Options &options,
                                                      const Observe &observe) const;

  mlir::DialectRegistry dialects;
};

Result<std::shared_ptr<Kernel::Data>>
Compiler::Impl::compileCached(const Program &program, const Specialization &specialization,
                              const Options &options, const Observe &observe) const {
  Timing timing;
  auto lookup = std::make_optional<Timing::Scope>(timing, "cache");
  const auto &assembler = processAssembler();
  if (!assembler)
    return assembler.error();
  ReachedParts reached;
  std::string key =
      cacheKey({program, specialization, options, (*assembler)->identity(), buildId()}, &reached);
  const Dependencies dependencies(program, std::move(reached));
  Cache cache = Cache::ofProcess();
  const bool reads = !isSet("PANTILE_ALWAYS_COMPILE") && !observe.remarks;
  std::optional<Kernel::Data> stored = reads ? findKernel(cache, dependencies, key) : std::nullopt;
  // A second process waits here and then finds the kernel; so does one that came between another's
  // store and its unlocking, and waited for none.
  std::optional<CacheLock> lock;
  if (!stored && reads) {
    lock.emplace(cache.entryPath(key), CacheLock::defaultPatience());
    stored = findKernel(cache, dependencies, key);
  }
  lookup.reset();
  if (stored && !isSet("PANTILE_CACHE_CHECK")) {
    stored->fromCache = true;
    stored->timings = timing.stages();
    warnOf(cache, *stored);
    return std::make_shared<Kernel::Data>(std::move(*stored));
  }
  auto fresh = compileFresh(dependencies.recorded(), specialization, options, observe);
  if (!fresh)
    return fresh.error();
  Kernel::Data &data = **fresh;
  data.hash = key;
  data.timings.insert(data.timings.begin(), timing.stages().begin(), timing.stages().end());
  if (stored && (stored->cubin != data.cubin || stored->text != data.text))
    return cacheMismatch(data);
  storeKernel(cache, dependencies, data);
  warnOf(cache, data);
  return *fresh;
}

Compiler::Compiler() : impl(std::make_unique<Impl>()) {}
Compiler::~Compiler() = default;

Result<Kernel> Compiler::compile(const Program &program, const Specialization &specialization,
                                 const Options &given, const Observe &observe) {
  std::string renamed;
  const Options options = withCurrentPassNames(given, renamed);
  if (Result<void> checked = checkOptions(options); !checked)
    return checked.error();
  if (Result<void> checked = checkProgram(program); !checked)
    return checked.error();
  auto data = cacheServes(options, observe)
                  ? impl->compileCached(program, specialization, options, observe)
                  : impl->compileFresh(program, specialization, options, observe);
  if (!data)
    return data.error();
  if (!(*data)->tensorMaps.empty() || (*data)->ctasPerProgram > 1)
    (*data)->compilePlain = plainCompiler(program, specialization, options);
  if ((*data)->streamK)
    (*data)->compileStreamK = streamKCompiler(program, specialization, options);
  (*data)->warnings += renamed;
  return Kernel(*data);
}

std::string_view Kernel::plan() const {
  const auto found = data->text.find("plan");
  return found == data->text.end() ? std::string_view() : found->second;
}

std::string versionText() {
  const auto &assembler = processAssembler();
  return fmt::format("pantile {} (build {})\nLLVM {}\nassembler: {}\n", PANTILE_VERSION,
                     buildId().substr(0, 12), LLVM_VERSION_STRING,
                     assembler ? (*assembler)->description()
                               : "none, " + assembler.error().message);
}

} // namespace pantile
