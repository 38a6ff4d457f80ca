//===- pantile-passes.cpp - runs all passes over the tile IR of many kernels ---------------===//
// Needs: files with layout-free tile IR. The first line of one may be a comment with options:
//        `// --max-registers=32 --disable-pass=NAME --enable-pass=NAME`.
// Gives: one line before each run of the passes: the file, and the variant of the compilation. Ends
//        with status 1 after the first run that fails, and says why.
// How:   Runs the pass pipelines of a compilation and nothing after them: in a build with
//        sanitizers only the passes, the analyses and the dialects have to be compiled.
//===-----------------------------------------------------------------------------------===//
#include "Pipeline.h"
#include "ir/Tile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "support/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace pantile;

namespace {

/// The options in the comment that `text` begins with.
Options optionsOf(llvm::StringRef text) {
  Options options;
  auto [line, rest] = text.split('\n');
  if (!line.consume_front("// "))
    return options;
  for (llvm::StringRef word : llvm::split(line, ' ')) {
    auto [name, value] = word.split('=');
    if (name == "--max-registers")
      value.getAsInteger(10, options.maxRegisters);
    else if (name == "--disable-pass")
      options.disabledPasses.insert(value.str());
    else if (name == "--enable-pass")
      options.enabledPasses.insert(value.str());
  }
  return options;
}

/// How a compilation may run the passes on one kernel again.
struct Variant {
  const char *name;
  std::vector<std::string> disabledPasses;
  Concessions without;
  LaunchAbi launchAbi = LaunchAbi::Full;
};

/// As requested; for launches that tensor maps cannot describe; without the passes that are left
/// out if ptxas serialises MMAs; without those that are left out if shared memory does not suffice.
const std::vector<Variant> &variantsOn(const Target &target) {
  static const std::vector<Variant> all = {
      {"as asked for", {}, {}},
      {"plain", {}, {}, LaunchAbi::Triton},
      {"less overlap",
       {"nv-overlap-dots", "nv-overlap-iterations", "nv-overlap-results", "carried-accumulators",
        "nv-defer-waits"},
       {}},
      {"little shared memory",
       {},
       {.persistence = true,
        .operandBuffers = true,
        .lastStage = true,
        .turnedBytes = true,
        .fp32OnWgmma = true,
        .resultBuffers = true}}};
  static const std::vector<Variant> first = {all.front()};
  return target.hasTma() ? all : first;
}

bool runPasses(mlir::ModuleOp module, Options options, const Variant &variant) {
  options.disabledPasses.insert(variant.disabledPasses.begin(), variant.disabledPasses.end());
  options.launchAbi = variant.launchAbi;
  Observe observe;
  observe.remarks = true;
  return mlir::succeeded(runTilePasses(module, options)) &&
         mlir::succeeded(runGpuPasses(module, options, observe, {}, variant.without));
}

bool runVariants(const mlir::DialectRegistry &dialects, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    llvm::errs() << path << ": " << file.getError().message() << "\n";
    return false;
  }
  const Options options = optionsOf((*file)->getBuffer());
  mlir::MLIRContext context(dialects, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  mlir::ScopedDiagnosticHandler noRemarks(&context, [](mlir::Diagnostic &diagnostic) {
    return mlir::success(diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark);
  });
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  auto target = module ? Target::parse(moduleTarget(*module)) : std::nullopt;
  if (!target)
    return false;
  return llvm::all_of(variantsOn(*target), [&](const Variant &variant) {
    llvm::outs() << path << ": " << variant.name << "\n";
    llvm::outs().flush();
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    return runPasses(*copy, options, variant);
  });
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry dialects;
  registerTileDialects(dialects);
  for (const char *path : llvm::ArrayRef(argv, argc).drop_front()) {
    if (!runVariants(dialects, path))
      return 1;
  }
  return 0;
}
