//===- MaskedOff.h - accesses that no thread does --------------------------------------------===//
// Needs: LLVM IR whose masks have been simplified.
// Gives: no predicated assembly whose predicate is the constant false: a load's results are what
//        masked-off lanes get, a store is gone.
// How:   predicated assembly begins with `@$n`; results that lanes keep are tied to operands.
//        Not left to the assembler: ptxas 13.0 folds the upper half of such a register wrongly
//        where a conversion from fp8 reads it.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/IR/PassManager.h"

namespace pantile {
struct DropMaskedOff : llvm::PassInfoMixin<DropMaskedOff> {
  llvm::PreservedAnalyses run(llvm::Function &fn, llvm::FunctionAnalysisManager &);
};
} // namespace pantile
