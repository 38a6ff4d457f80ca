//===- Operands.h - the registers that an instruction reads and writes ---------------===//
// Needs: Program.h.
// Gives: forRegisters, writesNothing, forSources, forResults.
// How:   An instruction writes its first operand, unless that is an address or the opcode is one of
//        the few without a result.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"
#include <algorithm>

namespace pantile::ptx {

/// Calls `body(register)` for each register of an operand.
template <class Body> void forRegisters(const Operand &operand, Body body) {
  if (operand.reg >= 0 && operand.kind != Operand::Vector)
    body(operand.reg);
  for (const Operand &part : operand.parts)
    forRegisters(part, body);
}

inline bool writesNothing(const Instruction &i) {
  static constexpr std::string_view bases[] = {"st",      "red",   "bra", "bar",
                                               "barrier", "fence", "ret"};
  return i.operands.empty() || i[0].kind == Operand::Address ||
         std::find(std::begin(bases), std::end(bases), i.op.base) != std::end(bases);
}

/// The registers that an instruction reads, its guard among them.
template <class Body> void forSources(const Instruction &i, Body body) {
  for (size_t at = writesNothing(i) ? 0 : 1; at < i.operands.size(); ++at)
    forRegisters(i[at], body);
  if (i.guard >= 0)
    body(i.guard);
}

/// The registers that it writes.
template <class Body> void forResults(const Instruction &i, Body body) {
  if (!writesNothing(i))
    forRegisters(i[0], body);
}

} // namespace pantile::ptx
