//===- WidenMinMax.h - signed minima and maxima of short integers in 32 bits ------------------===//
// Needs: optimised LLVM IR.
// Gives: the same IR without signed minima and maxima of fewer than 32 bits.
// How:   ptxas 13.0 packs two 16-bit ones into a VIMNMX.S16x2. If one of them is the operand of a
//        maximum with zero, it packs VIMNMX.S16x2.RELU, which clamps the other one at zero, too.
//        Runs late, since LLVM narrows wide ones. Unsigned ones have no `.RELU` and stay.
//===----------------------------------------------------------------------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace pantile {
void widenShortMinMax(llvm::Module &module);
} // namespace pantile
