//===- Operands.h - what an instruction does with its operands -----------------------===//
// Needs: Program.h.
// Gives: describe.
// How:   An instruction writes its first operand, unless that is an address or the opcode is one of
//        the few without a result.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"

namespace pantile::ptx {

/// Sets kind, order, sources and results of an instruction whose operands are known.
void describe(Instruction &instruction);

} // namespace pantile::ptx
