//===- Control.h - jumps, copies, ids and checks ------------------------------------------===//
// Needs: Launch.h.
// Gives: the handlers that do not compute on tiles. Jump targets are in `extra`.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"

namespace pantile::interp {

void runJump(Frame &frame, const Instr &instr);
/// Jumps if the truth value in a is false.
void runJumpUnless(Frame &frame, const Instr &instr);
/// dst <- a, `count` bytes. Also for single registers.
void runCopy(Frame &frame, const Instr &instr);
/// dst <- Code::constants[extra].
void runConstant(Frame &frame, const Instr &instr);
/// dst <- `extra`, `extra` + 1, ...
void runArange(Frame &frame, const Instr &instr);
/// dst <- index of the program along axis `extra`; extent of the grid along it.
void runProgramId(Frame &frame, const Instr &instr);
void runNumPrograms(Frame &frame, const Instr &instr);
/// dst <- index of the CTA; number of CTAs; programs of the user's grid; index of program a along
/// axis `extra`.
void runCtaId(Frame &frame, const Instr &instr);
void runNumCtas(Frame &frame, const Instr &instr);
void runProgramCount(Frame &frame, const Instr &instr);
void runProgramAt(Frame &frame, const Instr &instr);
void runReturn(Frame &frame, const Instr &instr);

/// Start of a counted loop. a: counter, b: upper bound, c: step. Jumps over a loop without
/// iterations.
Handler forTest(Elem elem, bool isUnsigned);
/// End of an iteration. dst: counter, b: upper bound, c: step. Jumps back for the next one.
Handler forStep(Elem elem, bool isUnsigned);
/// End of an iteration of a `while`, by Code::backedges[extra]: copies the loop-carried values,
/// jumps back, and suspends the program if it may be waiting for another one.
void runBackedge(Frame &frame, const Instr &instr);

/// a: conditions, extra: Code::messages.
void runAssert(Frame &frame, const Instr &instr);
/// extra: Code::prints.
void runPrint(Frame &frame, const Instr &instr);

} // namespace pantile::interp
