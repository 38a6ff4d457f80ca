//===- Schedule.h - distributes the programs of a grid over workers -----------------------===//
// Needs: a Launch whose bounds are set; argument values in the encoding of registers.
// Gives: runGrid, which returns when every program is done or an error has stopped the launch.
// How:   Workers claim ranges of programs from one counter. A worker keeps the programs that wait
//        and resumes them in a round robin; it starts another program of the grid if none of them
//        makes progress. If all programs have started, all wait and memory does not change, they
//        are deadlocked: that is an error.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Arena.h"
#include "interp/Launch.h"

namespace pantile::interp {

/// The bits of each argument, in the order of Code::arguments.
void runGrid(Launch &launch, ArenaPool &arenas, const std::vector<uint64_t> &argumentBits,
             int workers);

} // namespace pantile::interp
