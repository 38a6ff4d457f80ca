//===- Compilation.cpp - one program through the stages -----------------------------------===//
// Needs: see Compilation.h.
// Gives: Compilation.
// How:   each stage asks `finish` whether it was the last. A failure of ours takes a reproducer
//        with it: the tile IR as emitted, before any pass touched it.
//===------------------------------------------------------------------------------------===//
#include "Compilation.h"
#include "Pipeline.h"
#include "Reproducer.h"
#include "TensorMaps.h"
#include "frontend/AstPrinter.h"
#include "frontend/Emit.h"
#include "frontend/Parser.h"
#include "interp/Interpreter.h"
#include "ir/PackedPrograms.h"
#include "lower/Lower.h"
#include "target/Nvptx.h"
#include "target/Ptx.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/format.h>
#include <string_view>

namespace pantile {
namespace {

std::string irText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  text += '\n';
  return text;
}

std::string llvmText(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// "// " in front of every line.
std::string commented(llvm::StringRef text) {
  std::string out;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    out += fmt::format("// {}\n", line.str());
    text = rest;
  }
  return out;
}

std::string describeOptions(const Options &options) {
  std::string disabled, enabled;
  for (const std::string &pass : options.disabledPasses)
    disabled += " " + pass;
  for (const std::string &pass : options.enabledPasses)
    enabled += " " + pass;
  return fmt::format(
      "target {}, {} warps, {} stages, {} registers at most, fp fusion {}, debug {}, "
      "overflow checks {}, precision {}, disabled passes:{}, enabled "
      "passes:{}",
      options.target, options.numWarps, options.numStages, options.maxRegisters,
      options.enableFpFusion, options.debug, options.sanitizeOverflow, options.inputPrecision,
      disabled, enabled);
}

/// What ptxas says that the author of a kernel should know.
std::string notableLines(llvm::StringRef log) {
  std::string out;
  while (!log.empty()) {
    auto [line, rest] = log.split('\n');
    if (line.contains("warning") || line.contains("Performance Loss"))
      out += fmt::format("{}\n", line.trim().str());
    log = rest;
  }
  return out;
}

/// Names the time between two calls after the pass that ran in between.
class PassClock {
public:
  PassClock(Timing &timing, StageDump &dump) : timing(timing), dump(dump) {}

  PassObserver observer() {
    return [this](llvm::StringRef pass, mlir::ModuleOp module) {
      std::chrono::duration<double, std::milli> spent = Clock::now() - last;
      timing.add(pass.str(), spent.count());
      if (dump.enabled())
        if (Result<void> written = dump.write(pass.str(), "mlir", irText(module)); !written)
          failure = written;
      last = Clock::now();
    };
  }

  Result<void> failure; ///< of the last dump that failed

private:
  using Clock = std::chrono::steady_clock;
  Timing &timing;
  StageDump &dump;
  Clock::time_point last = Clock::now();
};

} // namespace

Compilation::Compilation(const mlir::DialectRegistry &dialects, const Program &program,
                         const Specialization &specialization, const Options &options,
                         const Observe &observe)
    : program(program), specialization(specialization), options(options), observe(observe),
      diagnostics(sources), context(dialects, mlir::MLIRContext::Threading::DISABLED),
      irDiagnostics(context, sources, observe.remarks), dump(observe.dumpDir) {
  context.loadAllAvailableDialects();
}

Result<std::shared_ptr<Kernel::Data>> Compilation::run() {
  auto describe = [this] { return reproducerText(); };
  ReproducerScope reproducer(describe);
  data->name = program.functions[program.kernel].name;
  data->options = options;
  data->args = specialization.args;
  data->numWarps = options.numWarps;
  if (Result<void> done = runStages(); !done)
    return withReproducer(done.error(), describe);
  if (dumpFailure)
    return *dumpFailure;
  data->warnings += irDiagnostics.warnings();
  data->remarks = irDiagnostics.takeRemarks();
  data->timings = timing.stages();
  return data;
}

Result<void> Compilation::runStages() {
  if (observe.stopAfter == Stage::Ast || dump.enabled())
    if (Result<void> printed = printTree(); !printed || observe.stopAfter == Stage::Ast)
      return printed;
  if (Result<void> emitted = emitTile(); !emitted)
    return emitted;
  if (finish(Stage::Tile, "tile", "mlir", [&] { return moduleText(); }))
    return {};
  if (options.target == "cpu")
    return prepareInterpreter();
  return runGpuStages(*Target::parse(options.target));
}

Result<void> Compilation::printTree() {
  std::string text;
  for (const FunctionSource &function : program.functions) {
    BufferId buffer =
        sources.addBuffer(function.file, function.text, function.firstLine, function.indent);
    std::unique_ptr<ast::FunctionDef> tree = parseFunction(sources, buffer, diagnostics);
    if (!tree)
      return diagnostics.toError();
    text += printAst(sources, *tree);
  }
  finish(Stage::Ast, "ast", "txt", [&] { return text; });
  return {};
}

Result<void> Compilation::emitTile() {
  {
    auto scope = timing.scope("parse and emit");
    module = emitTileIR(context, program, specialization, options, sources, diagnostics);
  }
  if (diagnostics.hasErrors())
    return diagnostics.toError();
  if (!module)
    return irDiagnostics.takeError("parse and emit");
  data->warnings += diagnostics.render();
  pristine = module->clone();
  return simplifyTiles();
}

Result<void> Compilation::simplifyTiles() {
  PassClock clock(timing, dump);
  if (mlir::failed(runTilePasses(*module, options, clock.observer())))
    return irDiagnostics.takeError("tile");
  return clock.failure;
}

Result<void> Compilation::prepareInterpreter() {
  auto scope = timing.scope("interpreter");
  Result<std::shared_ptr<InterpretedKernel>> kernel = InterpretedKernel::create(*module, &sources);
  if (!kernel)
    return kernel.error();
  data->interpreted = *kernel;
  return {};
}

Result<void> Compilation::runGpuStages(const Target &target) {
  std::unique_ptr<AssemblerRun> assembly; // gets ready beside the stages before it
  if (observe.stopAfter == Stage::Cubin && processAssembler())
    assembly = (*processAssembler())->start(options);
  if (Result<void> done = optimizeTiles(target, options); !done)
    return done;
  static constexpr std::pair<Stage, const char *> stages[] = {
      {Stage::Layout, "layout"}, {Stage::Pipeline, "pipeline"}, {Stage::Mma, "mma"}};
  for (auto [stage, name] : stages)
    if (observe.stopAfter == stage) {
      data->text[name] = moduleText();
      return {};
    }
  if (Result<void> done = generateCode(target); !done || observe.stopAfter != Stage::Cubin)
    return done;
  return assemble(assembly.get());
}

Result<void> Compilation::optimizeTiles(const Target &target, const Options &allowed) {
  PassClock clock(timing, dump);
  if (mlir::failed(runGpuPasses(*module, allowed, observe, clock.observer())))
    return irDiagnostics.takeError("mma");
  if (!clock.failure)
    return clock.failure;
  data->numWarps = moduleInt(*module, names::numWarps, options.numWarps) +
                   moduleInt(*module, names::producerWarps, 0);
  data->tensorMaps = tensorMapRecipes(*module);
  data->persistent = (*module)->hasAttr(names::persistent);
  data->programsPerBlock = moduleInt(*module, names::programsPerBlock, 1);
  data->sharedBytes = moduleInt(*module, names::sharedBytes, 0);
  if (allowed.maxRegisters > 0 &&
      module->walk([](nv::WgmmaOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted())
    remarkOn("warps are not specialised: `maxnreg` would bind the warp that loads as well",
             Remark::Kind::Missed, Technique::WarpSpecialisation);
  if (data->sharedBytes <= target.maxSharedBytes())
    return {};
  // The producer's rings are our addition, and more so while they live beside the epilogue's
  // scratch: what does not fit with them may fit without.
  if (!data->tensorMaps.empty()) {
    irDiagnostics.takeRemarks();
    const bool raisesStores =
        module->walk([](nv::TmaStoreOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
    if (raisesStores)
      remarkOn("stores are not raised to tensor maps: what they go through does not fit into "
               "shared memory",
               Remark::Kind::Missed, Technique::TensorMaps);
    else if (data->persistent)
      remarkOn("programs are not run one after the other: the rings of one and the scratch of "
               "another do not fit into shared memory",
               Remark::Kind::Missed, Technique::Persistence);
    else
      remarkOn("warps are not specialised: their rings do not fit into shared memory",
               Remark::Kind::Missed, Technique::WarpSpecialisation);
    Options plain = allowed;
    if (raisesStores)
      plain.disabledPasses.insert("nv-raise-stores");
    else
      plain.disabledPasses.insert(data->persistent ? "nv-make-persistent" : "nv-specialise-warps");
    module = mlir::OwningOpRef<mlir::ModuleOp>(pristine->clone());
    Result<void> simplified = simplifyTiles();
    return simplified ? optimizeTiles(target, plain) : simplified;
  }
  return makeError(ErrorKind::Resources,
                   fmt::format("out of resource: shared memory, Required: {}, Hardware limit: {}. "
                               "Reducing block sizes or `num_stages` may help.",
                               data->sharedBytes, target.maxSharedBytes()));
}

Result<void> Compilation::generateCode(const Target &target) {
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code;
  {
    auto scope = timing.scope("lower");
    code = lowerToLLVM(*module, llvmContext);
  }
  if (!code)
    return irDiagnostics.takeError("lower");
  if (finish(Stage::Llvm, "llvm", "ll", [&] { return llvmText(*code); }))
    return {};
  std::string optimized;
  {
    auto scope = timing.scope("llvm");
    Result<std::string> ptx =
        emitPtx(*code, target, options, dump.enabled() ? &optimized : nullptr);
    if (!ptx)
      return ptx.error();
    data->text["ptx"] = std::move(*ptx);
  }
  if (dump.enabled())
    record(dump.write("llvm-optimized", "ll", optimized));
  finish(Stage::Ptx, "ptx", "ptx", [&] { return data->text["ptx"]; });
  return {};
}

Result<void> Compilation::assemble(AssemblerRun *assembly) {
  if (!assembly)
    return processAssembler().error();
  auto scope = timing.scope("assemble");
  Result<Cubin> cubin = assembly->assemble(data->text["ptx"], data->name);
  if (!cubin)
    return cubin.error();
  data->cubin = std::move(cubin->bytes);
  data->registers = cubin->registers;
  data->spills = cubin->spills;
  data->warnings += notableLines(cubin->log);
  remarkOnResources();
  if (dump.enabled())
    record(dump.write("cubin", "cubin", data->cubin));
  return {};
}

void Compilation::remarkOnResources() {
  remarkOn(fmt::format("a thread has {} registers, a block {} bytes of shared memory",
                       data->registers, data->sharedBytes),
           Remark::Kind::Figure, Technique::Registers);
  if (data->spills)
    remarkOn(fmt::format("{} bytes of registers are spilled a thread: smaller tiles or more warps "
                         "may avoid it",
                         data->spills),
             Remark::Kind::Missed, Technique::Registers);
}

void Compilation::remarkOn(std::string message, Remark::Kind kind, Technique technique) {
  const FunctionSource &kernel = program.functions[program.kernel];
  SourceRange line{kernel.file, kernel.firstLine, 1, kernel.firstLine, 1};
  std::string rendered = renderDiagnostic(sources, Severity::Remark, line, message);
  irDiagnostics.addRemark({kind, technique, std::move(message), std::move(rendered), line});
}

bool Compilation::finish(Stage stage, std::string_view name, std::string_view extension,
                         llvm::function_ref<std::string()> text) {
  const bool last = observe.stopAfter == stage;
  if (!last && !dump.enabled())
    return false;
  std::string content = text();
  record(dump.write(name, extension, content));
  if (last)
    data->text[std::string(name)] = std::move(content);
  return last;
}

void Compilation::record(Result<void> written) {
  if (!written && !dumpFailure)
    dumpFailure = written.error();
}

std::string Compilation::moduleText() const { return irText(module.get()); }

std::string Compilation::reproducerText() {
  std::string text = commented(describeOptions(options));
  for (const FunctionSource &function : program.functions)
    text += commented(fmt::format("{}:{}\n{}", function.file, function.firstLine, function.text));
  if (pristine)
    text += irText(pristine.get());
  return text;
}

} // namespace pantile
