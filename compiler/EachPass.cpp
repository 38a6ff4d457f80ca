//===- EachPass.cpp - interpret a kernel after each pass ---------------------------===//
// Needs: see EachPass.h.
// Gives: checksEachPass, createWithStates.
// How:   The passes run as in a compilation for a GPU, once for launches with tensor maps and once
//        for launches without. Their remarks and errors are dropped, since a compilation emits
//        them. A pass that changes nothing shares the kernel of the pass before.
//===-------------------------------------------------------------------------------===//
#include "EachPass.h"
#include "Pipeline.h"
#include "interp/EachState.h"
#include "ir/Tile.h"
#include "mlir/IR/Diagnostics.h"
#include "support/Target.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdlib>

namespace pantile {
namespace {

bool isSame(mlir::ModuleOp a, mlir::ModuleOp b) {
  return a && mlir::OperationEquivalence::isEquivalentTo(
                  a, b, mlir::OperationEquivalence::IgnoreLocations);
}

constexpr const char *setting = "PANTILE_CHECK_EACH_PASS";
constexpr llvm::StringLiteral everyTarget = "sm_80,sm_90a";

llvm::StringRef wanted() {
  const char *text = std::getenv(setting);
  const llvm::StringRef value = text ? text : "";
  return value == "1" ? llvm::StringRef(everyTarget) : value == "0" ? "" : value;
}

void addStates(InterpretedKernel &kernel, mlir::ModuleOp module, const Options &options,
               const SourceManager *sources) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::MLIRContext *context = module.getContext();
  (*copy)->setAttr(names::target, mlir::StringAttr::get(context, options.target));
  mlir::ScopedDiagnosticHandler silent(context, [](mlir::Diagnostic &) { return mlir::success(); });
  const std::string target =
      options.target + (options.launchAbi == LaunchAbi::Full ? "" : " without tensor maps");
  mlir::OwningOpRef<mlir::ModuleOp> before;
  interp::State next{target, "", nullptr, ""};
  auto observe = [&](llvm::StringRef pass, mlir::ModuleOp state, bool succeeded) {
    if (!succeeded)
      return;
    next.pass = pass.str();
    if (!isSame(before.get(), state)) {
      before = state.clone();
      auto made = InterpretedKernel::create(state, sources);
      next.kernel = made ? *made : nullptr;
      next.reason = made ? "" : made.error().message;
    }
    kernel.compareWith(next);
  };
  if (mlir::succeeded(runTilePasses(*copy, options, observe)))
    (void)runGpuPasses(*copy, options, Observe(), observe);
}

} // namespace

bool checksEachPass() { return !wanted().empty(); }

Result<std::shared_ptr<InterpretedKernel>>
createWithStates(mlir::ModuleOp module, const Options &options, const SourceManager *sources) {
  Result<std::shared_ptr<InterpretedKernel>> kernel = InterpretedKernel::create(module, sources);
  if (!kernel)
    return kernel;
  for (llvm::StringRef name : llvm::split(wanted(), ',')) {
    const std::optional<Target> target = Target::parse(name);
    if (!target)
      return makeError(ErrorKind::Launch, std::string(setting) + " names no target: " + name.str());
    Options given = options;
    given.target = name.str();
    addStates(**kernel, module, given, sources);
    given.launchAbi = LaunchAbi::Triton;
    if (target->hasTma())
      addStates(**kernel, module, given, sources);
  }
  return kernel;
}

} // namespace pantile
