//===- WidenBf16.cpp - extract bf16 from a 32-bit register in one operation ------------------===//
#include "target/WidenBf16.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

namespace {
namespace match = llvm::PatternMatch;

/// The 32-bit word and the half of it that `extension` widens; null if it widens something else.
std::pair<llvm::Value *, uint64_t> halfOfWord(llvm::FPExtInst &extension) {
  llvm::Value *word = nullptr;
  uint64_t half = 0;
  if (extension.getType()->isFloatTy() && extension.getSrcTy()->isBFloatTy() &&
      match::match(extension.getOperand(0),
                   match::m_ExtractElt(match::m_BitCast(match::m_Value(word)),
                                       match::m_ConstantInt(half))) &&
      word->getType()->isIntegerTy(32) && half < 2)
    return {word, half};
  return {};
}
} // namespace

void pantile::widenBf16InWords(llvm::Module &module) {
  llvm::SmallVector<llvm::FPExtInst *> extensions;
  for (llvm::Function &fn : module)
    for (llvm::Instruction &instruction : llvm::instructions(fn))
      if (auto *extension = llvm::dyn_cast<llvm::FPExtInst>(&instruction))
        extensions.push_back(extension);
  for (llvm::FPExtInst *extension : extensions) {
    auto [word, half] = halfOfWord(*extension);
    if (!word)
      continue;
    llvm::IRBuilder<> b(extension);
    constexpr unsigned bits = 16;
    llvm::Value *wide = half ? b.CreateAnd(word, b.getInt32(~0u << bits)) : b.CreateShl(word, bits);
    extension->replaceAllUsesWith(b.CreateBitCast(wide, b.getFloatTy()));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(extension);
  }
}
