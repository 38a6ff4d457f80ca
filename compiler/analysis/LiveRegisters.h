//===- LiveRegisters.h - registers of the tiles that are live at once in a loop with MMAs ---===//
// Needs: a loop whose own body has asynchronous MMAs, with layouts.
// Gives: the most 32-bit registers per thread that its tiles take at once: what the loop carries,
//        results of its MMAs, and what is computed from these.
// How:   A result that takes the place of an operand that is dead then takes no registers of its
//        own. A left operand in registers is live until its MMA is waited for. Views such as
//        broadcasts take none. Pointers, addresses and tiles that are only loaded do not count.
//        registersOfLoop (RegisterBudget.h) adds up tiles that are not live together, too.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

int64_t liveRegistersOf(mlir::scf::ForOp loop);

} // namespace pantile
