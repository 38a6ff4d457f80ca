//===- DisabledLoads.h - loads whose mask never holds ----------------------------------------===//
// Needs: optimised LLVM IR, with masked loads as the lowering writes them: assembly whose operands
//        are the pointer, the mask and the words that stand in where it does not hold.
// Gives: those words themselves, where the mask is known to be false.
// How:   late, since only the optimiser sees that no thread's index is below the bound. Not a
//        matter of speed alone: ptxas 13.0, which drops such a load itself, then takes the upper
//        half of a word that is zero for 16, where two numbers of 8 bits are widened.
//===----------------------------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace pantile {
void dropDisabledLoads(llvm::Module &module);
} // namespace pantile
