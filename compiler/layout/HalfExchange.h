//===- HalfExchange.h - conversions in which lanes exchange halves of words ------------------===//
// Needs: two layouts of one shape and the bits of an element; nothing of MLIR.
// Gives: a conversion inside warps by one shuffle for each 32-bit word.
// How:   both layouts have the same 16 bits together, and one bit of the register number in `from`
//        is a bit of the lane number in `to`, and the reverse: so a word of `to` has a half from each
//        of two lanes. Two words are converted together, in two rounds. In round `j` a lane sends one
//        word: of each of the two the half whose number is `j`, XOR the lane's bit that becomes
//        a register bit. It takes the word of the lane that has sent the halves that it needs. This is
//        how the accumulator of an MMA becomes the left operand of another one of 8-bit elements.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "layout/LinearLayout.h"

namespace pantile {

struct HalfExchange {
  using Registers = llvm::SmallVector<int, 8>;
  /// Two words of a thread, as the registers of their elements, from the lowest bits on.
  struct Words {
    Registers from, to;
  };
  llvm::SmallVector<Words, 8> words;
  /// For each bit of the lane that sends, the bit of the lane that takes which it equals. That of
  /// `sendingHalf` equals bit `takingHalf` XOR the number of the round.
  llvm::SmallVector<int, 5> laneBits;
  int sendingHalf = 0, takingHalf = 0;
};

/// Nothing where an element changes its warp, where lanes hold replicas, or for other layouts.
std::optional<HalfExchange> halfExchange(const LinearLayout &from, const LinearLayout &to,
                                         unsigned bits);

} // namespace pantile
