//===- Memory.h - checked access to the arguments' storage --------------------------------===//
// Needs: Launch.h.
// Gives: handlers of loads, stores and atomics, and their check of bounds.
// How:   A tile whose lowest and highest address are in one argument passes at once. Any other one
//        is checked lane by lane: a read outside gives 0 and a warning, a write outside ends the
//        launch.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Launch.h"
#include <vector>

namespace pantile::interp {

/// dst: values, a: addresses, b: mask, c: other, extra: Code::accesses.
void runLoad(Frame &frame, const Instr &instr);
void runVolatileLoad(Frame &frame, const Instr &instr);
/// a: addresses, b: mask, c: values, extra: Code::accesses.
void runStore(Frame &frame, const Instr &instr);
/// dst: old values, a: addresses, b: mask, c: values, extra: Code::atomics.
void runAtomicRmw(Frame &frame, const Instr &instr);
/// dst: values, a: addresses, b: mask, extra: Code::atomics.
void runAtomicRead(Frame &frame, const Instr &instr);
/// dst: anything but what is in c, extra: Code::atomics.
void runPollStart(Frame &frame, const Instr &instr);
/// dst: the time when the nanoseconds in a will be over.
void runDeadline(Frame &frame, const Instr &instr);
/// dst: what was read last, a: addresses, b: deadline if `masked`, c: expected, extra:
/// Code::atomics.
void runAtomicPoll(Frame &frame, const Instr &instr);
/// dst: old values, a: addresses, b: expected, c: values, extra: Code::atomics.
void runAtomicCas(Frame &frame, const Instr &instr);

enum class Direction { Read, Write };

/// The lanes that may be accessed, after a check that not all may. Every thread keeps its memory.
inline thread_local std::vector<uint8_t> allowedLanes;

/// Returns whether every lane may be accessed. If not, the access has been reported and
/// `allowedLanes` is the mask of the lanes that may; after an error the frame is stopped.
bool checkAccess(Frame &frame, const Instr &instr, const Access &access, const uint8_t *mask,
                 Direction direction);

} // namespace pantile::interp
