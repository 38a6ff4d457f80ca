//===- StreamKChoice.h - whether a launch splits its tiles over CTAs ----------------------===//
// Needs: a kernel with a StreamKEstimate, which is persistent; the packed arguments of a launch.
// Gives: whether the launch should run the kernel's stream-K variant.
// How:   The choice depends on the GPU, on the number of programs and on the iterations of a tile.
//        Some are kept, so that launches like earlier ones compare one number.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "runtime/Module.h"
#include "support/StreamKModel.h"

namespace pantile {

/// The programs of a launch of `kernel`, and their iterations; no iterations where they cannot be counted in 32 bits.
TileCount tileCountOf(const Kernel &kernel, llvm::ArrayRef<uint64_t> slots, const Grid &grid);

/// Whether such a launch on `device` is predicted to be faster with stream-K. False as well where the
/// GPU cannot be queried, which the launch will report.
bool choosesStreamK(const Driver &driver, const Kernel &kernel, int device, TileCount count);

} // namespace pantile
