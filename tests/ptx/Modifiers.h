//===- Modifiers.h - which modifiers each emulated opcode takes ---------------------------===//
// Needs: Program.h.
// Gives: unknownModifier.
// How:   a table of forms, as the PTX ISA writes an instruction's syntax. A handler reads only the
//        modifiers of its forms, so an opcode that fits none of them must not run: it would run as
//        if the modifier were not there.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"

namespace pantile::ptx {

/// What no form of the opcode accounts for; "" if one form fits the whole opcode.
std::string unknownModifier(const Opcode &op);

} // namespace pantile::ptx
