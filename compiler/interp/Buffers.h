//===- Buffers.h - copies between tiles and the slots of buffers ------------------------------===//
// Needs: Launch.h.
// Gives: the handlers of shared buffers.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"

namespace pantile::interp {

/// dst: a tile of `count` bytes, a: a buffer of `extra` slots, b: the slot.
void runLoadSlot(Frame &frame, const Instr &instr);
/// dst: a buffer of `extra` slots, a: a tile of `count` bytes, b: the slot.
void runStoreSlot(Frame &frame, const Instr &instr);
/// dst <- the address of slot b of the buffer in a, whose `extra` slots have `count` bytes.
void runSlotAddress(Frame &frame, const Instr &instr);
/// dst <- `count` bytes that are NaN in every type of floats.
void runFillBytes(Frame &frame, const Instr &instr);

} // namespace pantile::interp
