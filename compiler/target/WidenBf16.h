//===- WidenBf16.h - bf16 out of its word in one operation -----------------------------------===//
// Needs: optimised LLVM IR.
// Gives: of a bf16 that is half of a 32-bit word, the fp32 by a shift or a mask of the word.
// How:   as an extension of the half alone, the assembler first takes the upper one out and then
//        shifts it. Late, since LLVM knows extensions (a maximum of two is that of the halves), and
//        not what a mask means.
//===----------------------------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace pantile {
void widenBf16InWords(llvm::Module &module);
} // namespace pantile
