//===- BankExchange.h - registers that lanes exchange so that a store has no bank conflicts --===//
// Needs: a layout whose registers are in vector order; nothing of MLIR.
// Gives: for bits of the lane number a bit of the register number: a lane that has that bit set stores
//        the registers in another order, each with the other value of the register bit.
// How:   shared memory serves 128 bytes at a time: as many lanes as have vectors of that size together.
//        They are free of conflicts if the bits of their number change the bank independently. Of
//        those that do not, each takes a register bit that does. So an fp32 accumulator, of which four
//        lanes hold 32 bytes of a row, is stored with a swizzle of 128 bytes at full speed.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "layout/SharedLayout.h"

namespace pantile {

struct BankExchange {
  unsigned laneBit, regBit;
};

/// The exchanges for a store of vectors of `layout`, of elements that fill a register; none if it has no
/// conflicts, or some remain.
llvm::SmallVector<BankExchange> bankExchanges(const LinearLayout &layout,
                                              const SharedLayout &shared);

/// Which element each lane stores, in the order of its instructions, once registers are exchanged.
LinearLayout withExchanges(const LinearLayout &layout, llvm::ArrayRef<BankExchange> exchanges);

} // namespace pantile
