//===- ArtifactFile.cpp - kernels compiled ahead of time, as one file ---------------------===//
// Needs: see pantile/Artifact.h; the bytes of one kernel (cache/Artifact.h).
// Gives: Artifact.
// How:   magic, format, digest of the rest; then per kernel its bytes and those of its variants
//        without tensor maps and with stream-K, or none. The file does not depend on the build: a
//        launch needs only machine code or tile IR.
//===------------------------------------------------------------------------------------===//
#include "cache/Artifact.h"
#include "cache/Bytes.h"
#include "cache/CacheKey.h"
#include "interp/Interpreter.h"
#include "ir/Tile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "pantile/Artifact.h"
#include "runtime/Arguments.h"
#include "support/Target.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace pantile {
namespace {

constexpr std::string_view magic = "PANTILE ARTIFACT\n";
constexpr uint64_t format = 2;

Error refused(std::string message) { return makeError(ErrorKind::Launch, std::move(message)); }

Error fileError(const char *doing, const std::string &path) {
  return refused(
      fmt::format("cannot {} `{}`: {}", doing, path, std::strerror(errno ? errno : EIO)));
}

/// What the interpreter runs, from the text of the tile IR.
Result<void> interpret(Kernel::Data &data) {
  mlir::DialectRegistry dialects;
  registerTileDialects(dialects);
  mlir::MLIRContext context(dialects, mlir::MLIRContext::Threading::DISABLED);
  // The parser's diagnostics are dropped: the Error says what is wrong.
  mlir::ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) {});
  auto module = mlir::parseSourceString<mlir::ModuleOp>(data.text["tile"], &context);
  if (!module)
    return refused(fmt::format("the tile IR of kernel `{}` is not valid here", data.name));
  Result<std::shared_ptr<InterpretedKernel>> made = InterpretedKernel::create(*module, nullptr);
  if (!made)
    return made.error();
  data.interpreted = *made;
  return {};
}

Result<std::shared_ptr<Kernel::Data>> readKernel(std::string_view bytes) {
  std::optional<Kernel::Data> data = parseArtifact(bytes);
  if (!data)
    return refused("a kernel of the artifact was written by another version of pantile");
  if (data->options.target == "cpu")
    if (Result<void> ready = interpret(*data); !ready)
      return ready.error();
  return std::make_shared<Kernel::Data>(std::move(*data));
}

/// Rank code for the target `built` on a device of target `wanted`: 0 if it does not run there.
int suits(const std::string &built, std::string_view wanted) {
  constexpr int exact = 1 << 20;
  if (built == wanted)
    return exact;
  std::optional<Target> code = Target::parse(built), device = Target::parse(wanted);
  if (!code || !device || !code->runsOn(device->sm() / 10, device->sm() % 10))
    return 0;
  return 2 * code->sm() + (code->name().size() > device->name().size());
}

int64_t assumptions(const Kernel &kernel) {
  int64_t sum = 0;
  for (const ArgSpec &spec : kernel->args)
    sum += spec.kind == ArgSpec::Kind::Constant ? 1 : spec.divisibility > 1;
  return sum;
}

bool takes(const Kernel &kernel, const std::vector<LaunchArg> &args) {
  Result<ArgPlan> plan = planArguments(kernel->args);
  if (!plan || plan->size() != args.size())
    return false;
  std::vector<uint64_t> slots(args.size());
  return bool(packArguments(*plan, args, slots.data()));
}

Error notFound(const std::vector<Kernel> &contents, std::string_view name,
               std::string_view target) {
  std::string there;
  for (const Kernel &kernel : contents)
    there += fmt::format(" `{}` for `{}`", kernel->name, kernel->options.target);
  return refused(fmt::format("the artifact has no kernel `{}` for `{}`; it has{}", name, target,
                             there.empty() ? " none" : there));
}

} // namespace

Result<void> Artifact::add(const Program &program, const Specialization &specialization,
                           const Options &options) {
  Observe observe;
  if (options.target == "cpu")
    observe.stopAfter = Stage::Tile;
  Result<Kernel> kernel = Compiler().compile(program, specialization, options, observe);
  if (!kernel)
    return kernel.error();
  return add(*kernel);
}

Result<void> Artifact::add(const Kernel &kernel) {
  if (kernel && kernel->options.target == "cpu" && kernel->text.contains("tile")) {
    auto data = std::make_shared<Kernel::Data>(*kernel);
    if (Result<void> ready = interpret(*data); !ready)
      return ready;
    contents.push_back(Kernel(std::move(data)));
    return {};
  }
  if (!kernel || kernel->cubin.empty())
    return refused("only kernels with machine code, or on the CPU with tile IR, can be taken into "
                   "an artifact");
  contents.push_back(kernel);
  return {};
}

std::string Artifact::serialize() const {
  ByteWriter out;
  out.u64(contents.size());
  for (const Kernel &kernel : contents) {
    out.text(serializeArtifact(*kernel));
    for (const auto &compile : {kernel->compilePlain, kernel->compileStreamK}) {
      Result<Kernel> variant = compile ? compile() : Kernel();
      out.text(variant && *variant ? serializeArtifact(**variant) : "");
    }
  }
  ByteWriter head;
  head.u64(format);
  head.text(hexDigest(out.bytes()));
  return std::string(magic) + head.take() + out.take();
}

Result<Artifact> Artifact::parse(std::string_view bytes) {
  if (!bytes.starts_with(magic))
    return refused("these bytes are no artifact of pantile");
  bytes.remove_prefix(magic.size());
  ByteReader in(bytes);
  if (uint64_t seen = in.u64(); in.ok() && seen != format)
    return refused(fmt::format("the artifact has format {}; this library reads {}", seen, format));
  const std::string digest = in.text();
  const size_t headBytes = 2 * sizeof(uint64_t) + digest.size();
  if (!in.ok() || digest != hexDigest(bytes.substr(headBytes)))
    return refused("the artifact is damaged");
  Artifact artifact;
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    auto kernel = readKernel(in.text());
    if (!kernel)
      return kernel.error();
    for (auto *compile : {&(*kernel)->compilePlain, &(*kernel)->compileStreamK})
      if (std::string bytesOfVariant = in.text(); !bytesOfVariant.empty()) {
        auto variant = readKernel(bytesOfVariant);
        if (!variant)
          return variant.error();
        *compile = [made = Kernel(*variant)] { return Result<Kernel>(made); };
      }
    artifact.contents.push_back(Kernel(*kernel));
  }
  return in.ok() && in.atEnd() ? Result<Artifact>(std::move(artifact))
                               : refused("the artifact is damaged");
}

Result<void> Artifact::save(const std::string &path) const {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  errno = 0;
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << serialize() << std::flush;
    if (!stream) {
      Error error = fileError("write", path);
      unlink(temporary.c_str());
      return error;
    }
  }
  if (rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Error error = fileError("write", path);
  unlink(temporary.c_str());
  return error;
}

Result<Artifact> Artifact::load(const std::string &path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  if (stream)
    bytes << stream.rdbuf();
  if (!stream || stream.bad())
    return fileError("read", path);
  Result<Artifact> artifact = parse(bytes.str());
  if (!artifact)
    return refused(fmt::format("`{}`: {}", path, artifact.error().message));
  return artifact;
}

Result<Kernel> Artifact::find(std::string_view name, std::string_view target) const {
  const Kernel *best = nullptr;
  int bestSuits = 0;
  for (const Kernel &kernel : contents)
    if (int here = kernel->name == name ? suits(kernel->options.target, target) : 0;
        here > bestSuits)
      best = &kernel, bestSuits = here;
  return best ? Result<Kernel>(*best) : notFound(contents, name, target);
}

Result<Kernel> Artifact::find(std::string_view name, std::string_view target,
                              const std::vector<LaunchArg> &args) const {
  const Kernel *best = nullptr;
  std::pair<int, int64_t> bestScore;
  bool isThere = false;
  for (const Kernel &kernel : contents) {
    const int here = kernel->name == name ? suits(kernel->options.target, target) : 0;
    isThere |= here > 0;
    const std::pair<int, int64_t> score = {here, assumptions(kernel)};
    if (here > 0 && takes(kernel, args) && (!best || score > bestScore))
      best = &kernel, bestScore = score;
  }
  if (best)
    return *best;
  if (!isThere)
    return notFound(contents, name, target);
  return refused(fmt::format("no specialisation of `{}` in the artifact takes these {} arguments",
                             name, args.size()));
}

} // namespace pantile
