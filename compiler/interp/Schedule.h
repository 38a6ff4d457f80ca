//===- Schedule.h - spreads the programs of a grid over workers ---------------------------===//
// Needs: a Launch whose bounds are set; argument values as the registers hold them.
// Gives: runGrid, which returns when every program is done or the launch was stopped by an error.
// How:   workers claim runs of programs from one counter. A worker keeps the programs that wait and
//        gives each a turn; it starts another program of the grid when none of them gets on. When
//        all programs are started, all wait and memory stays as it is, nothing can change any more:
//        that is an error.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Arena.h"
#include "interp/Launch.h"

namespace pantile::interp {

/// The bits of each argument, in the order of Code::arguments.
void runGrid(Launch &launch, ArenaPool &arenas, const std::vector<uint64_t> &argumentBits,
             int workers);

} // namespace pantile::interp
