//===- MaskedOff.h - remove accesses that are masked off in all threads ----------------------===//
// Needs: LLVM IR whose masks have been simplified.
// Gives: no predicated assembly whose predicate is the constant false: a load's results are those
//        of masked-off lanes, a store is removed.
// How:   Predicated assembly starts with `@$n`; results of masked-off lanes are tied operands. Not
//        left to ptxas: 13.0 folds the upper half of such a register wrongly if a conversion from
//        fp8 reads it.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/IR/PassManager.h"

namespace pantile {
struct DropMaskedOff : llvm::PassInfoMixin<DropMaskedOff> {
  llvm::PreservedAnalyses run(llvm::Function &fn, llvm::FunctionAnalysisManager &);
};
} // namespace pantile
