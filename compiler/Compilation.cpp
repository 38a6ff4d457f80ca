//===- Compilation.cpp - one program through the stages -----------------------------------===//
// Needs: see Compilation.h.
// Gives: Compilation.
// How:   each stage ends with `finish`, which is true after the last. A failure of ours takes a reproducer
//        with it: the tile IR as emitted, before any pass touched it.
//===------------------------------------------------------------------------------------===//
#include "Compilation.h"
#include "Dependencies.h"
#include "EachPass.h"
#include "LaunchAbi.h"
#include "Pipeline.h"
#include "PlanText.h"
#include "ReadTileIR.h"
#include "Reproducer.h"
#include "StreamKEstimates.h"
#include "TensorMaps.h"
#include "analysis/LaunchCycles.h"
#include "analysis/WrittenArguments.h"
#include "frontend/AstPrinter.h"
#include "frontend/Emit.h"
#include "frontend/Parser.h"
#include "interp/Interpreter.h"
#include "ir/Launch.h"
#include "lower/Lower.h"
#include "pantile/Request.h"
#include "target/Nvptx.h"
#include "target/Ptx.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace pantile {
namespace {

std::string irText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text + '\n';
}

std::string llvmText(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

/// What ptxas says that the author of a kernel needs.
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

/// What leaves MMAs in flight over other work: over the end of an iteration, then within one.
using Names = std::vector<std::string>;
const Names overlappingPasses[] = {{"nv-overlap-dots", "nv-overlap-iterations",
                                    "nv-overlap-results", "nv-carry-mmas", "carried-accumulators"},
                                   {"nv-defer-waits"}};

/// The first of these that `options` do not all leave out.
const Names *nextOverlap(const Options &options) {
  auto isLeftOut = [&](const std::string &pass) { return options.disabledPasses.contains(pass); };
  return llvm::find_if(overlappingPasses,
                       [&](const Names &passes) { return !llvm::all_of(passes, isLeftOut); });
}

/// Names the time between two calls after the pass that ran in between.
class PassClock {
public:
  PassClock(Timing &timing, StageDump &dump) : timing(timing), dump(dump) {}

  PassObserver observer() {
    return [this](llvm::StringRef pass, mlir::ModuleOp module, bool succeeded) {
      if (!succeeded)
        failedPass = pass.str();
      std::chrono::duration<double, std::milli> spent = Clock::now() - last;
      timing.add(pass.str(), spent.count());
      if (dump.enabled())
        if (Result<void> written = dump.write(pass.str(), "mlir", irText(module)); !written)
          failure = written;
      last = Clock::now();
    };
  }

  Result<void> failure;   ///< of the last dump that failed
  std::string failedPass; ///< empty: none did

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
  if (!serialised.empty() && !retryWithLessOverlap())
    remarkOn("the assembler serialises wgmma due to " + serialised, Remark::Kind::Missed,
             Technique::TensorCores);
  if (observe.remarks)
    remarkOnAbi();
  data->remarks = irDiagnostics.takeRemarks();
  data->timings = timing.stages();
  return data;
}

/// Serialised MMAs are slower than MMAs that never overlap other work, so the kernel is compiled
/// again without passes that make them overlap. Where that does not help, the first code stays.
bool Compilation::retryWithLessOverlap() {
  const Names *passes = nextOverlap(options);
  if (passes == std::end(overlappingPasses))
    return false;
  Options plain = options;
  plain.disabledPasses.insert(passes->begin(), passes->end());
  Observe apart = observe;
  if (dump.enabled())
    apart.dumpDir += "/less-overlap";
  Compilation retry(context.getDialectRegistry(), program, specialization, plain, apart);
  Result<std::shared_ptr<Kernel::Data>> retried = retry.run();
  for (const auto &[stage, milliseconds] : retry.timing.stages())
    timing.add(stage, milliseconds);
  if (!retried || !retry.serialised.empty())
    return false;
  data = *retried;
  data->options = options;
  irDiagnostics.takeRemarks();
  for (Remark &remark : data->remarks)
    irDiagnostics.addRemark(std::move(remark));
  remarkOn(fmt::format("the assembler serialised wgmma due to {}: compiled again without `{}`",
                       serialised, fmt::join(*passes, "`, `")),
           Remark::Kind::Missed, Technique::TensorCores);
  serialised.clear();
  return true;
}

Result<void> Compilation::runStages() {
  if (observe.stopAfter == Stage::Ast || dump.enabled())
    if (Result<void> printed = printTree(); !printed || observe.stopAfter == Stage::Ast)
      return printed;
  if (Result<void> emitted = emitTile(); !emitted)
    return emitted;
  if (observe.launch && observe.stopAfter == Stage::Tile) {
    predict();
    return {};
  }
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
    if (const FunctionSource &source = program.functions[program.kernel]; isTileIR(source)) {
      Result<mlir::OwningOpRef<mlir::ModuleOp>> read =
          readTileIR(context, source, specialization, options);
      if (!read)
        return read.error();
      module = std::move(*read);
    } else
      module = emitTileIR(context, program, specialization, options, sources, diagnostics);
  }
  if (diagnostics.hasErrors())
    return diagnostics.toError();
  if (!module)
    return irDiagnostics.takeError("parse and emit");
  data->warnings += diagnostics.render();
  pristine = module->clone();
  data->written = writtenArguments(*module);
  return simplifyTiles();
}

Result<void> Compilation::simplifyTiles() {
  PassClock clock(timing, dump);
  if (mlir::failed(runTilePasses(*module, options, clock.observer())))
    return irDiagnostics.takePassError(clock.failedPass);
  return clock.failure;
}

/// From the plan, or from tiles alone where there is none yet.
void Compilation::predict() {
  module->walk([&](mlir::func::FuncOp function) {
    if (!function->hasAttr(names::kernel))
      return;
    auto written = pristine->lookupSymbol<mlir::func::FuncOp>(function.getName());
    data->predictions = function->hasAttr(names::plan)
                            ? std::vector{predictOfPlan(function, written, *observe.launch)}
                            : predictOfTiles(function, *observe.launch);
    for (LaunchPrediction &prediction : data->predictions)
      if (options.maxRegisters > 0)
        prediction.spills |= prediction.registers > options.maxRegisters;
  });
}

Result<void> Compilation::prepareInterpreter() {
  auto scope = timing.scope("interpreter");
  Result<std::shared_ptr<InterpretedKernel>> kernel =
      checksEachPass() ? createWithStates(*pristine, options, &sources)
                       : InterpretedKernel::create(*module, &sources);
  if (!kernel)
    return kernel.error();
  data->interpreted = *kernel;
  return {};
}

Result<void> Compilation::runGpuStages(const Target &target) {
  std::unique_ptr<AssemblerRun> assembly; // starts in parallel with the earlier stages
  if (observe.stopAfter == Stage::Cubin && processAssembler())
    assembly = (*processAssembler())->start(options);
  if (Result<void> done = optimizeTiles(); !done)
    return done;
  if (Result<void> fits = fitShared(target); !fits)
    return fits;
  if (Result<void> kept = keepAbi(); !kept)
    return kept;
  if (observe.stopAfter >= Stage::Layout && observe.stopAfter <= Stage::Mma) {
    data->text[std::string(stageName(observe.stopAfter))] = moduleText();
    return {};
  }
  data->text["plan"] = planText(*module, options.lineInfo || options.debug); // as the cache's key
  if (observe.launch)
    predict();
  if (finish(Stage::Plan, "plan", "txt", [&] { return data->text["plan"]; }))
    return {};
  if (Result<void> done = generateCode(target); !done || observe.stopAfter != Stage::Cubin)
    return done;
  return assemble(assembly.get());
}

Result<void> Compilation::optimizeTiles() {
  PassClock clock(timing, dump);
  if (mlir::failed(runGpuPasses(*module, options, observe, clock.observer(), without)))
    return irDiagnostics.takePassError(clock.failedPass);
  if (!clock.failure)
    return clock.failure;
  const Launch launch = Launch::of(*module);
  data->numWarps = moduleInt(*module, names::numWarps, options.numWarps) +
                   static_cast<int>(launch.producerWarps);
  data->tensorMaps = tensorMapRecipes(*module);
  data->streamK = streamKEstimate(*module);
  data->persistent = launch.persistent;
  data->workspacePerCta = launch.partialBytes;
  data->programsPerCta = static_cast<int>(launch.programsPerCta);
  data->ctasPerProgram = static_cast<int>(launch.ctasPerProgram);
  data->sharedBytes = launch.sharedBytes;
  if (options.maxRegisters > 0 &&
      module->walk([](nv::AsyncMmaOpInterface) { return mlir::WalkResult::interrupt(); })
          .wasInterrupted())
    remarkOn("warps are not specialised: `maxnreg` would bind the warp that loads as well",
             Remark::Kind::Missed, Technique::WarpSpecialisation);
  return {};
}

/// A pass that requires more of launches than the ABI gives, and is not known to, is our mistake.
Result<void> Compilation::keepAbi() {
  if (options.launchAbi == LaunchAbi::Full || observe.stopAfter < Stage::Mma)
    return {};
  const std::vector<std::string> needs = needsOfPasses(*data);
  if (needs.empty())
    return {};
  return makeError(ErrorKind::Internal,
                   fmt::format("the kernel needs {}, which the launch ABI `triton` has not",
                               fmt::join(needs, ", ")));
}

//===- shared memory ---------------------------------------------------------------------===//

/// Compiles again without one thing after the other until shared memory suffices.
Result<void> Compilation::fitShared(const Target &target) {
  int64_t required = 0; // without what launches of Triton have not
  while (data->sharedBytes > target.maxSharedBytes()) {
    if (required == 0 && data->tensorMaps.empty())
      required = data->sharedBytes;
    const std::vector<Concession> all = concessionsOf(*module, data->persistent);
    const auto next = llvm::find_if(
        all, [&](const Concession &one) { return one.mayHelp && !(without.*one.taken); });
    if (next == all.end())
      return makeError(ErrorKind::Resources,
                       fmt::format("out of resource: shared memory, Required: {}, Hardware limit: "
                                   "{}. Reducing block sizes or `num_stages` may help.",
                                   required, target.maxSharedBytes()));
    without.*next->taken = true;
    giveUp(*next);
    module = mlir::OwningOpRef<mlir::ModuleOp>(pristine->clone());
    if (Result<void> simplified = simplifyTiles(); !simplified)
      return simplified;
    if (Result<void> done = optimizeTiles(); !done)
      return done;
  }
  return {};
}

/// What was said of the attempt is void, but for why those before it failed.
void Compilation::giveUp(const Concession &concession) {
  irDiagnostics.takeRemarks();
  givenUp.push_back(concession);
  for (const Concession &one : givenUp)
    remarkOn(one.reason, Remark::Kind::Missed, one.technique);
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
    Result<PtxCode> ptx = emitPtx(*code, target, options, dump.enabled() ? &optimized : nullptr);
    if (!ptx)
      return ptx.error();
    data->text["ptx"] = std::move(ptx->text);
    for (const LinkedFile &file : ptx->linked)
      data->dependencies.push_back(fileDependency(file));
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
  data->text["plan"] += assembledLine(data->registers, data->spills);
  serialised = cubin->serialised;
  data->warnings += notableLines(cubin->log);
  remarkOnResources();
  if (dump.enabled())
    record(dump.write("cubin", "cubin", data->cubin));
  return {};
}

/// Says what the kernel goes without for its ABI: what it has when it is compiled for the full one.
void Compilation::remarkOnAbi() {
  if (options.launchAbi == LaunchAbi::Full || options.target == "cpu" ||
      observe.stopAfter < Stage::Mma)
    return;
  Options full = options;
  full.launchAbi = LaunchAbi::Full;
  Observe quiet;
  quiet.stopAfter = Stage::Mma;
  Compilation other(context.getDialectRegistry(), program, specialization, full, quiet);
  Result<std::shared_ptr<Kernel::Data>> made = other.run();
  if (!made)
    return;
  if (const std::vector<std::string> needs = needsOfPasses(**made); !needs.empty())
    remarkOn(fmt::format("for the launch ABI `triton` the kernel does without {}",
                         fmt::join(needs, ", ")),
             Remark::Kind::Missed, Technique::Other);
}

void Compilation::remarkOnResources() {
  remarkOn(fmt::format("{} registers per thread, {} bytes of shared memory per CTA",
                       data->registers, data->sharedBytes),
           Remark::Kind::Figure, Technique::Registers);
  if (data->spills)
    remarkOn(fmt::format("{} bytes of registers per thread are spilled: try smaller tiles or more "
                         "warps",
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
