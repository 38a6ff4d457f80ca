//===- Nvptx.cpp - LLVM IR to PTX ----------------------------------------------------===//
// Needs: kernels from lower/: no allocas except for printing, loops rotated, addresses as a base
//        plus constants.
// Gives: PTX. This is the only file with LLVM's pass pipelines.
// How:   A short pipeline instead of -O3: simplify, hoist, eliminate common and dead code. It does
//        not vectorise, and unrolls only loops that lower/ marks: ptxas unrolls others where it pays
//        off. Shared pointers have 32 bits.
//===-----------------------------------------------------------------------------------===//
#include "target/Nvptx.h"
#include "target/Libdevice.h"
#include "target/MaskedOff.h"
#include "target/WidenBf16.h"
#include "target/WidenMinMax.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/Sink.h"
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace pantile;

namespace {
/// LLVM 22's straight-line strength reduction takes quadratic time in the number of address
/// computations, and reassociation a third of all code generation; our addresses are a base plus
/// constants already. Freezing in loops analyses all loop-carried values, for instructions that our
/// loops do not have. Results of loop strength reduction stay in registers: where threads have few
/// (1024 threads with 64 each), a comparison of 32 columns with a label became 32 spilled
/// differences.
struct NoVainPasses : llvm::OptPassGate {
  explicit NoVainPasses(bool fewRegisters) : fewRegisters(fewRegisters) {}
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const override {
    if (fewRegisters && name == "Loop Strength Reduction")
      return false;
    return name != "slsr" && name != "nary-reassociate" &&
           name != "Canonicalize Freeze Instructions in Loops";
  }
  bool isEnabled() const override { return true; }
  bool fewRegisters;
};

bool hasFewRegisters(const Target &target, const Options &options) {
  const RegisterThresholds &limits = target.machine().registers;
  return options.numWarps >= limits.warpsWithFew ||
         (options.maxRegisters > 0 && options.maxRegisters <= limits.fewForStrengthReduction);
}

/// Collects errors instead of ending the process, LLVM's default.
struct CollectErrors : llvm::DiagnosticHandler {
  explicit CollectErrors(std::string &errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream os(errors);
      llvm::DiagnosticPrinterRawOStream printer(os);
      info.print(printer);
      os << "\n";
    }
    return true;
  }
  std::string &errors;
};

const llvm::Target *nvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // 32-bit pointers to shared memory: only a command-line option sets this.
    auto &known = llvm::cl::getRegisteredOptions();
    if (auto it = known.find("nvptx-short-ptr"); it != known.end())
      static_cast<llvm::cl::opt<bool> *>(it->second)->setValue(true);
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"), error);
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const Target &target, const Options &options) {
  llvm::TargetOptions how;
  how.AllowFPOpFusion = options.enableFpFusion ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(nvptx()->createTargetMachine(
      llvm::Triple("nvptx64-nvidia-cuda"), target.llvmCpu(), target.ptxFeature(), how,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

void setFunctionAttributes(llvm::Module &module, const Options &options) {
  for (llvm::Function &fn : module)
    if (fn.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
      if (options.maxRegisters > 0) {
        fn.removeFnAttr("nvvm.minctasm");
        fn.addFnAttr("nvvm.maxnreg", std::to_string(options.maxRegisters));
      }
    } else if (!fn.isDeclaration() && !fn.hasFnAttribute(keptCallAttribute)) {
      fn.removeFnAttr(llvm::Attribute::NoInline);
      fn.addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

llvm::FunctionPassManager functionPasses(bool hasCalls, bool sinks) {
  llvm::FunctionPassManager passes;
  if (hasCalls)
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  loops.addPass(llvm::LoopDeletionPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LoopFullUnrollPass(/*OptLevel=*/2, /*OnlyWhenForced=*/true)));
  passes.addPass(DropMaskedOff());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  if (sinks)
    passes.addPass(llvm::SinkingPass());
  passes.addPass(llvm::ADCEPass());
  return passes;
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  bool hasCalls = false, sinks = false;
  for (llvm::Function &fn : module) {
    hasCalls |= !fn.isDeclaration() && fn.getCallingConv() != llvm::CallingConv::PTX_Kernel;
    sinks |= fn.hasFnAttribute(sinkAttribute);
  }
  llvm::ModulePassManager passes;
  if (hasCalls) {
    // libdevice chooses its variants by __nvvm_reflect, which the target folds.
    if (auto error = builder.parsePassPipeline(passes, "nvvm-reflect"))
      llvm::consumeError(std::move(error));
    passes.addPass(llvm::AlwaysInlinerPass());
    passes.addPass(llvm::GlobalDCEPass());
  }
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(functionPasses(hasCalls, sinks)));
  passes.run(module, modules);
}

std::string textOf(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, nullptr);
  return text;
}
} // namespace

Result<PtxCode> pantile::emitPtx(llvm::Module &module, const Target &target, const Options &options,
                                 std::string *optimisedLlvm) {
  std::string errors;
  llvm::LLVMContext &context = module.getContext();
  context.setDiagnosticHandler(std::make_unique<CollectErrors>(errors));
  // The context outlives `errors`.
  const llvm::scope_exit restore(
      [&] { context.setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>()); });
  auto machine = targetMachine(target, options);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  llvm::raw_string_ostream errorStream(errors);
  if (llvm::verifyModule(module, &errorStream))
    return makeError(ErrorKind::Internal, "generated LLVM IR is wrong: " + errors);
  Result<std::vector<LinkedFile>> linked = linkLibraries(module, options);
  if (!linked)
    return linked.error();
  if (!options.lineInfo)
    llvm::StripDebugInfo(module);
  setFunctionAttributes(module, options);
  optimise(module, *machine);
  widenBf16InWords(module);
  widenShortMinMax(module);
  if (optimisedLlvm)
    *optimisedLlvm = textOf(module);

  static NoVainPasses gate(/*fewRegisters=*/false), gateOfFew(/*fewRegisters=*/true);
  context.setOptPassGate(hasFewRegisters(target, options) ? gateOfFew : gate);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return makeError(ErrorKind::Internal, "LLVM cannot emit PTX");
  passes.run(module);
  if (!errors.empty())
    return makeError(ErrorKind::Unsupported, "LLVM refused the kernel: " + errors);
  return PtxCode{ptx.str().str(), std::move(*linked)};
}
