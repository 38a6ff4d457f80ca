//===- WidenMinMax.cpp - signed minima and maxima of short integers in 32 bits ----------------===//
#include "target/WidenMinMax.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace {
constexpr unsigned wordBits = 32;

bool isShort(const llvm::MinMaxIntrinsic &call) {
  return call.isSigned() && call.getType()->getScalarSizeInBits() < wordBits;
}

void widen(llvm::MinMaxIntrinsic &call) {
  llvm::IRBuilder<> b(&call);
  llvm::Type *wide = call.getType()->getWithNewBitWidth(wordBits);
  llvm::Value *result = b.CreateBinaryIntrinsic(
      call.getIntrinsicID(), b.CreateSExt(call.getLHS(), wide), b.CreateSExt(call.getRHS(), wide));
  call.replaceAllUsesWith(b.CreateTrunc(result, call.getType()));
  call.eraseFromParent();
}
} // namespace

void pantile::widenShortMinMax(llvm::Module &module) {
  for (llvm::Function &fn : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(fn)))
      if (auto *call = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction); call && isShort(*call))
        widen(*call);
}
