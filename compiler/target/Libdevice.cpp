//===- Libdevice.cpp - link functions of bitcode libraries ----------------------------===//
// How:   The bitcode is loaded lazily, so only bodies that are called are read. They become
//        internal and are inlined, except those that a user's library marks `noinline`. Users'
//        libraries are linked first, since their functions may call libdevice's.
//        Pointers of a kernel are in the global address space, or are integers; functions written
//        in C take generic ones, so calls are adapted. A global address and the generic one are the
//        same number.
//===-----------------------------------------------------------------------------------===//
#include "target/Libdevice.h"
#include "cache/CacheKey.h"
#include "target/AssemblerSearch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdlib>
#include <set>
#include <vector>

using namespace pantile;

namespace {
/// Only the user's path if there is one; else next to each candidate for the assembler, as in every
/// distribution of it, and in Triton's wheel.
std::vector<std::string> candidates() {
  for (const char *name : {"PANTILE_LIBDEVICE_PATH", "TRITON_LIBDEVICE_PATH"})
    if (const char *path = std::getenv(name); path && *path)
      return {path};
  std::vector<std::string> paths;
  for (llvm::StringRef assembler : ptxasCandidates())
    if (assembler.consume_back("/bin/ptxas"))
      paths.push_back((assembler + "/nvvm/libdevice/libdevice.10.bc").str());
  for (const std::string &folder : sitePackages())
    paths.push_back(folder + "/triton/backends/nvidia/lib/libdevice.10.bc");
  return paths;
}

bool isWanted(const llvm::Function &fn) {
  return fn.isDeclaration() &&
         (fn.getName().starts_with("__nv_") || fn.hasFnAttribute(externLibraryAttribute));
}
const llvm::Function *firstWanted(const llvm::Module &module) {
  for (const llvm::Function &fn : module)
    if (isWanted(fn))
      return &fn;
  return nullptr;
}

/// The files that calls and options name, except libdevice.
std::set<std::string> namedLibraries(const llvm::Module &module, const Options &options) {
  std::set<std::string> paths;
  for (const auto &[name, path] : options.externLibs)
    if (name != "libdevice")
      paths.insert(path);
  for (const llvm::Function &fn : module)
    if (isWanted(fn))
      if (std::string path = fn.getFnAttribute(externLibraryAttribute).getValueAsString().str();
          !path.empty())
        paths.insert(path);
  return paths;
}

constexpr llvm::StringLiteral howToGetNvshmem =
    "install the wheel `nvidia-nvshmem-cu12` or `nvidia-nvshmem-cu13` (of the driver's CUDA), or "
    "have `NVSHMEM_LIB_DIR` name the folder of libnvshmem_device.bc";

/// Links the file at `path` and appends it to `linked`.
Result<void> linkFile(llvm::Module &module, const std::string &path,
                      std::vector<LinkedFile> &linked) {
  const auto unreadable = [&](std::string why) {
    if (llvm::StringRef(path).contains("nvshmem"))
      why += ("; " + howToGetNvshmem).str();
    return makeError(ErrorKind::Assembler, "cannot read `" + path + "`: " + why);
  };
  auto content = llvm::MemoryBuffer::getFile(path);
  if (!content)
    return unreadable("Could not open input file: " + content.getError().message());
  linked.push_back({path, hexDigest((*content)->getBuffer())});
  llvm::SMDiagnostic diagnostic;
  auto library = llvm::getLazyIRModule(std::move(*content), diagnostic, module.getContext());
  if (!library)
    return unreadable(diagnostic.getMessage().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    return makeError(ErrorKind::Internal, "cannot link `" + path + "`");
  return {};
}

/// `value` as `type`, if only the address space of a pointer differs, or one of them is an address
/// as an integer; else null.
llvm::Value *adapted(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Type *type) {
  constexpr unsigned addressBits = 64;
  const llvm::Type *given = value->getType();
  if (given == type)
    return value;
  if (given->isPointerTy() && type->isPointerTy())
    return b.CreateAddrSpaceCast(value, type);
  if (given->isIntegerTy(addressBits) && type->isPointerTy())
    return b.CreateIntToPtr(value, type);
  return given->isPointerTy() && type->isIntegerTy(addressBits) ? b.CreatePtrToInt(value, type)
                                                                : nullptr;
}

/// The result `made`, for uses of a call of type `type`: wrappers of C functions declare a 32-bit
/// status where the function returns a wider one, which is truncated as in C, or none, which must
/// be unused.
llvm::Value *adaptedResult(llvm::IRBuilder<> &b, llvm::CallInst *made, const llvm::CallInst *call) {
  llvm::Type *type = call->getType();
  const llvm::Type *given = made->getType();
  if (given->isVoidTy())
    return call->use_empty() ? llvm::PoisonValue::get(type) : nullptr;
  if (given->isIntegerTy() && type->isIntegerTy() &&
      given->getIntegerBitWidth() > type->getIntegerBitWidth())
    return b.CreateTrunc(made, type);
  return adapted(b, made, type);
}

std::string typeText(const llvm::Type *type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type->print(os);
  return text;
}

/// Calls `fn` with its own type, in place of a call of another type.
Result<void> adaptCall(llvm::CallInst *call, llvm::Function *fn) {
  llvm::FunctionType *wanted = fn->getFunctionType();
  const auto mismatch = [&] {
    return makeError(ErrorKind::Type, "`" + fn->getName().str() + "` is `" + typeText(wanted) +
                                          "`, and is called as `" +
                                          typeText(call->getFunctionType()) + "`");
  };
  if (wanted == call->getFunctionType())
    return {};
  if (wanted->getNumParams() != call->arg_size())
    return mismatch();
  llvm::IRBuilder<> b(call);
  std::vector<llvm::Value *> operands;
  for (unsigned i = 0; i < call->arg_size(); ++i)
    operands.push_back(adapted(b, call->getArgOperand(i), wanted->getParamType(i)));
  if (llvm::is_contained(operands, nullptr))
    return mismatch();
  llvm::CallInst *made = b.CreateCall(fn, operands);
  made->setAttributes(llvm::AttributeList::get(fn->getContext(), call->getAttributes().getFnAttrs(),
                                               {}, {})); // attributes of values may not fit
  llvm::Value *result = adaptedResult(b, made, call);
  if (!result)
    return mismatch();
  call->replaceAllUsesWith(result);
  call->eraseFromParent();
  return {};
}

Result<void> adaptCalls(llvm::Module &module) {
  for (llvm::Function &fn : module) {
    std::vector<llvm::CallInst *> calls;
    for (llvm::User *user : fn.users())
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(user);
          call && call->getCalledOperand() == &fn)
        calls.push_back(call);
    for (llvm::CallInst *call : calls)
      if (auto done = adaptCall(call, &fn); !done)
        return done;
  }
  return {};
}

Result<void> linkLibdevice(llvm::Module &module, const Options &options,
                           const llvm::Function &needed, std::vector<LinkedFile> &linked) {
  if (needed.getName().starts_with("nvshmem"))
    return makeError(ErrorKind::Assembler,
                     ("`" + needed.getName() +
                      "` needs NVSHMEM's libnvshmem_device.bc in "
                      "`extern_libs`, as `requires_nvshmem` of torch passes it; " +
                      howToGetNvshmem)
                         .str());
  const auto given = options.externLibs.find("libdevice");
  const std::string path = given != options.externLibs.end() ? given->second : findLibdevice();
  if (path.empty()) {
    const std::vector<std::string> tried = candidates();
    const std::string places = tried.size() == 1 ? "; there is no `" + tried[0] + "`"
                                                 : ", which no toolkit and no wheel here has";
    return makeError(ErrorKind::Assembler,
                     "`" + needed.getName().str() + "` needs NVIDIA's libdevice.10.bc" + places +
                         "; set `PANTILE_LIBDEVICE_PATH`, or install the wheel `nvidia-nvvm`");
  }
  if (auto done = linkFile(module, path, linked); !done)
    return done;
  if (given == options.externLibs.end())
    linked.back().path.clear();
  if (const llvm::Function *missing = firstWanted(module))
    return makeError(ErrorKind::Unsupported,
                     "`" + missing->getName().str() + "` is not in `" + path + "`");
  return {};
}
std::set<std::string> definedFunctions(const llvm::Module &module) {
  std::set<std::string> names;
  for (const llvm::Function &fn : module)
    if (!fn.isDeclaration())
      names.insert(fn.getName().str());
  return names;
}

/// Links what calls and options name; functions marked `noinline` stay calls.
Result<void> linkNamed(llvm::Module &module, const Options &options,
                       std::vector<LinkedFile> &linked) {
  const std::set<std::string> before = definedFunctions(module);
  for (const std::string &path : namedLibraries(module, options))
    if (auto done = linkFile(module, path, linked); !done)
      return done;
  for (llvm::Function &fn : module)
    if (fn.hasFnAttribute(llvm::Attribute::NoInline) && !before.count(fn.getName().str()))
      fn.addFnAttr(keptCallAttribute);
  return {};
}
} // namespace

std::string pantile::findLibdevice() {
  for (const std::string &path : candidates())
    if (llvm::sys::fs::exists(path))
      return path;
  return {};
}

Result<std::vector<LinkedFile>> pantile::linkLibraries(llvm::Module &module,
                                                       const Options &options) {
  std::vector<LinkedFile> linked;
  if (!firstWanted(module))
    return linked;
  if (auto done = linkNamed(module, options, linked); !done)
    return done.error();
  if (const llvm::Function *needed = firstWanted(module))
    if (auto done = linkLibdevice(module, options, *needed, linked); !done)
      return done.error();
  if (auto adapted = adaptCalls(module); !adapted)
    return adapted.error();
  for (llvm::Function &fn : module)
    if (!fn.isDeclaration() && fn.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      fn.setLinkage(llvm::GlobalValue::InternalLinkage);
  // libdevice's fp32 functions flush denormals to zero, as the hardware's own approximations do.
  if (!module.getModuleFlag("nvvm-reflect-ftz"))
    module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 1);
  return linked;
}
