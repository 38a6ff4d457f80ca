//===- Compilation.h - one program through the stages -------------------------------------===//
// Needs: a program, how it is specialised, options that were checked.
// Gives: the kernel's data up to `observe.stopAfter`, compiled from scratch.
// How:   one MLIR context, LLVM context and source manager per compilation, so compilations share
//        nothing and run on any thread. The stages are the member functions, in order.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "Concession.h"
#include "IrDiagnostics.h"
#include "Pipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "pantile/Compiler.h"
#include "support/Debug.h"
#include "support/Diagnostics.h"
#include "support/Source.h"
#include "support/Target.h"
#include "support/Timing.h"
#include <memory>
#include <optional>

namespace llvm {
class Module;
}

namespace pantile {
class AssemblerRun;

class Compilation {
public:
  Compilation(const mlir::DialectRegistry &dialects, const Program &program,
              const Specialization &specialization, const Options &options, const Observe &observe);

  Result<std::shared_ptr<Kernel::Data>> run();

private:
  bool retryWithLessOverlap();
  Result<void> runStages();
  Result<void> printTree();
  Result<void> emitTile();
  Result<void> simplifyTiles();
  Result<void> prepareInterpreter();
  void predict();
  Result<void> runGpuStages(const Target &target);
  Result<void> optimizeTiles();
  Result<void> fitShared(const Target &target);
  void giveUp(const Concession &concession);
  Result<void> generateCode(const Target &target);
  Result<void> assemble(AssemblerRun *assembly);
  Result<void> keepAbi();
  void remarkOnAbi();
  void remarkOnResources();
  /// On the kernel as a whole: its first line.
  void remarkOn(std::string message, Remark::Kind kind, Technique technique);

  /// Whether `stage` is the last one; keeps its text if so, and dumps it.
  bool finish(Stage stage, std::string_view name, std::string_view extension,
              llvm::function_ref<std::string()> text);
  /// Keeps the first dump that could not be written: the compilation itself goes on.
  void record(Result<void> written);
  std::string moduleText() const;
  std::string reproducerText();

  const Program &program;
  const Specialization &specialization;
  const Options &options;
  const Observe &observe;

  SourceManager sources;
  DiagnosticEngine diagnostics;
  mlir::MLIRContext context;
  IrDiagnostics irDiagnostics;
  Timing timing;
  StageDump dump;
  std::optional<Error> dumpFailure;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> pristine; ///< as emitted, for reproducers
  std::vector<Concession> givenUp;            ///< so far
  Concessions without;                        ///< the same, as passes take it
  std::string serialised; ///< why the assembler lets no wgmma overlap; empty: it does
  std::shared_ptr<Kernel::Data> data = std::make_shared<Kernel::Data>();
};

} // namespace pantile
