//===- DisabledLoads.cpp - loads whose mask never holds --------------------------------------===//
#include "target/DisabledLoads.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

namespace {
constexpr unsigned maskOperand = 1, firstWord = 2;

int wordsOf(const llvm::CallInst &load) {
  auto *several = llvm::dyn_cast<llvm::StructType>(load.getType());
  return several ? static_cast<int>(several->getNumElements()) : 1;
}

bool isDisabledLoad(const llvm::CallInst &call) {
  auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  if (!assembly || call.arg_size() <= maskOperand ||
      !llvm::PatternMatch::match(call.getArgOperand(maskOperand), llvm::PatternMatch::m_Zero()))
    return false;
  const std::string guard = "@$" + std::to_string(wordsOf(call) + 1) + " ld.";
  return assembly->getAsmString().starts_with(guard) &&
         call.arg_size() == firstWord + static_cast<unsigned>(wordsOf(call));
}

void drop(llvm::CallInst &load) {
  if (!load.getType()->isStructTy())
    llvm::replaceAndRecursivelySimplify(&load, load.getArgOperand(firstWord));
  else
    for (llvm::User *user : llvm::make_early_inc_range(load.users()))
      if (auto *word = llvm::dyn_cast<llvm::ExtractValueInst>(user))
        llvm::replaceAndRecursivelySimplify(word,
                                            load.getArgOperand(firstWord + *word->idx_begin()));
  if (load.use_empty())
    load.eraseFromParent();
}
} // namespace

void pantile::dropDisabledLoads(llvm::Module &module) {
  llvm::SmallVector<llvm::CallInst *> disabled;
  for (llvm::Function &fn : module)
    for (llvm::Instruction &instruction : llvm::instructions(fn))
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && isDisabledLoad(*call))
        disabled.push_back(call);
  for (llvm::CallInst *load : disabled)
    drop(*load);
}
