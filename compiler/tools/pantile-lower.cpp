//===- pantile-lower.cpp - prints the LLVM IR or PTX of tile IR with layouts --------------===//
// Needs: a module at the end of the pipeline: layouts assigned, shared memory allocated.
// Gives: LLVM IR; with --opt after optimisation; with --ptx PTX. --no-line-info, --no-fma and
//        --max-registers=N set the options of the same names; --time prints milliseconds.
//===-----------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "lower/Lower.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "target/Nvptx.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace pantile;

namespace {
struct Flags {
  const char *file = "-";
  bool opt = false, ptx = false, time = false;
  Options options;
};

Flags parseFlags(int argc, char **argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    flags.opt |= std::strcmp(argv[i], "--opt") == 0;
    flags.ptx |= std::strcmp(argv[i], "--ptx") == 0;
    flags.time |= std::strcmp(argv[i], "--time") == 0;
    flags.options.lineInfo &= std::strcmp(argv[i], "--no-line-info") != 0;
    flags.options.enableFpFusion &= std::strcmp(argv[i], "--no-fma") != 0;
    if (std::strncmp(argv[i], "--max-registers=", 16) == 0)
      flags.options.maxRegisters = std::atoi(argv[i] + 16);
    if (argv[i][0] != '-')
      flags.file = argv[i];
  }
  return flags;
}

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
} // namespace

int main(int argc, char **argv) {
  const Flags flags = parseFlags(argc, argv);
  mlir::DialectRegistry registry;
  registerTileDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(flags.file, sources, &context);
  if (!module)
    return 1;
  const double start = now();
  llvm::LLVMContext llvmContext;
  auto lowered = lowerToLLVM(*module, llvmContext);
  if (!lowered)
    return 1;
  const double middle = now();
  if (!flags.opt && !flags.ptx) {
    lowered->print(llvm::outs(), nullptr);
    return 0;
  }
  std::string optimised;
  auto ptx = emitPtx(*lowered, *Target::parse(std::string_view(moduleTarget(*module))),
                     flags.options, &optimised);
  if (flags.time)
    llvm::errs() << "lower " << middle - start << " ms, emit " << now() - middle << " ms\n";
  if (!ptx) {
    llvm::errs() << ptx.error().message << "\n";
    return 1;
  }
  llvm::outs() << (flags.ptx ? ptx->text : optimised);
  return 0;
}
