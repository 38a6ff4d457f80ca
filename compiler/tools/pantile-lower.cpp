//===- pantile-lower.cpp - prints the LLVM IR or PTX of tile IR with layouts --------------------===//
// Needs: a module at the end of the pipeline: layouts assigned, shared memory allocated.
// Gives: LLVM IR; with --opt after optimisation; with --ptx PTX. --time prints milliseconds.
//===-----------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "lower/Lower.h"
#include "target/Nvptx.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cstring>

using namespace pantile;

namespace {
struct Flags {
  const char *file = "-";
  bool opt = false, ptx = false, time = false;
};

Flags parseFlags(int argc, char **argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    flags.opt |= std::strcmp(argv[i], "--opt") == 0;
    flags.ptx |= std::strcmp(argv[i], "--ptx") == 0;
    flags.time |= std::strcmp(argv[i], "--time") == 0;
    if (argv[i][0] != '-')
      flags.file = argv[i];
  }
  return flags;
}

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
} // namespace

int main(int argc, char **argv) {
  const Flags flags = parseFlags(argc, argv);
  mlir::DialectRegistry registry;
  registerTileDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(flags.file, &context);
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
  auto ptx = emitPtx(*lowered, *Target::parse(std::string_view(moduleTarget(*module))), Options(), &optimised);
  if (flags.time)
    llvm::errs() << "lower " << middle - start << " ms, emit " << now() - middle << " ms\n";
  if (!ptx) {
    llvm::errs() << ptx.error().message << "\n";
    return 1;
  }
  llvm::outs() << (flags.ptx ? *ptx : optimised);
  return 0;
}
