//===- Buffers.h - copies between tiles and the stages of buffers ---------------------===//
// Needs: Launch.h.
// Gives: the handlers of shared buffers.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"

namespace pantile::interp {

/// dst: a tile of `count` bytes, a: a buffer of `extra` stages, b: the stage.
void runLoadStage(Frame &frame, const Instr &instr);
/// dst: a buffer of `extra` stages, a: a tile of `count` bytes, b: the stage.
void runStoreStage(Frame &frame, const Instr &instr);
/// dst <- the address of stage b of buffer a; `extra` stages of `count` bytes each.
void runStageAddress(Frame &frame, const Instr &instr);
/// dst <- `count` bytes that are NaN in every type of floats.
void runFillBytes(Frame &frame, const Instr &instr);

} // namespace pantile::interp
