//===- WidenBf16.h - extract bf16 from a 32-bit register in one operation --------------------===//
// Needs: optimised LLVM IR.
// Gives: for a bf16 that is half of a 32-bit word, its fp32 value by one shift or mask of the word.
// How:   Given an extension of the half, ptxas first extracts the upper half and then shifts it.
//        Runs late, since LLVM optimises extensions (a maximum of two is that of the halves) but
//        not the equivalent mask.
//===----------------------------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace pantile {
void widenBf16InWords(llvm::Module &module);
} // namespace pantile
