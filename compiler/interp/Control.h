//===- Control.h - jumps, copies, positions and checks ------------------------------------===//
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
/// dst <- index of the program along axis `extra`; size of the grid.
void runProgramId(Frame &frame, const Instr &instr);
void runNumPrograms(Frame &frame, const Instr &instr);
/// dst <- number of the block; how many run; programs of the user's grid; index of program a along
/// axis `extra`.
void runBlockId(Frame &frame, const Instr &instr);
void runNumBlocks(Frame &frame, const Instr &instr);
void runProgramCount(Frame &frame, const Instr &instr);
void runProgramAt(Frame &frame, const Instr &instr);
void runReturn(Frame &frame, const Instr &instr);

/// Start of a counted loop. a: counter, b: upper bound, c: step. Jumps over the loop if it has no
/// turn.
Handler forTest(Elem elem, bool isUnsigned);
/// End of a turn. dst: counter, b: upper bound, c: step. Jumps back for the next one.
Handler forStep(Elem elem, bool isUnsigned);
/// End of a turn of a `while`, by Code::backedges[extra]: carries the values over, jumps back, and
/// sets the program aside where it may be waiting for another.
void runBackedge(Frame &frame, const Instr &instr);

/// a: conditions, extra: Code::messages.
void runAssert(Frame &frame, const Instr &instr);
/// extra: Code::prints.
void runPrint(Frame &frame, const Instr &instr);

} // namespace pantile::interp
