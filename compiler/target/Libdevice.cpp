//===- Libdevice.cpp - NVIDIA's mathematical functions as bitcode -----------------------------===//
// How:   the bitcode is loaded lazily, so that only the bodies that are called are read. They are
//        made internal and inlined where they are called.
//===-----------------------------------------------------------------------------------===//
#include "target/Libdevice.h"
#include "target/AssemblerSearch.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdlib>
#include <vector>

using namespace pantile;

namespace {
/// The file lies beside the assembler in every distribution of it.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  for (const char *name : {"PANTILE_LIBDEVICE_PATH", "TRITON_LIBDEVICE_PATH"})
    if (const char *path = std::getenv(name))
      paths.push_back(path);
  for (llvm::StringRef assembler : ptxasCandidates())
    if (assembler.consume_back("/bin/ptxas"))
      paths.push_back((assembler + "/nvvm/libdevice/libdevice.10.bc").str());
  return paths;
}

const llvm::Function *firstCall(const llvm::Module &module) {
  for (const llvm::Function &fn : module)
    if (fn.isDeclaration() && fn.getName().starts_with("__nv_"))
      return &fn;
  return nullptr;
}
} // namespace

std::string pantile::findLibdevice() {
  for (const std::string &path : candidates())
    if (llvm::sys::fs::exists(path))
      return path;
  return {};
}

Result<void> pantile::linkLibdevice(llvm::Module &module) {
  const llvm::Function *needed = firstCall(module);
  if (!needed)
    return {};
  const std::string path = findLibdevice();
  if (path.empty())
    return makeError(ErrorKind::Assembler,
                     "`" + needed->getName().str() +
                         "` needs NVIDIA's libdevice.10.bc, which was not found; set "
                         "`PANTILE_LIBDEVICE_PATH`");
  llvm::SMDiagnostic diagnostic;
  auto library = llvm::getLazyIRFileModule(path, diagnostic, module.getContext());
  if (!library)
    return makeError(ErrorKind::Assembler,
                     "cannot read `" + path + "`: " + diagnostic.getMessage().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    return makeError(ErrorKind::Internal, "cannot link `" + path + "`");
  if (const llvm::Function *missing = firstCall(module))
    return makeError(ErrorKind::Unsupported,
                     "`" + missing->getName().str() + "` is not in `" + path + "`");
  for (llvm::Function &fn : module)
    if (!fn.isDeclaration() && fn.getName().starts_with("__"))
      fn.setLinkage(llvm::GlobalValue::InternalLinkage);
  return {};
}
