//===- CurrentStream.h - the current stream of the caller's library ----------------------===//
// Needs: the GIL. Imports nothing: a library that made an argument is loaded already.
// Gives: the current stream and device of torch, else of CuPy; 0 and 0 without them.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>

namespace pantile::python {

uint64_t currentStream(int device);
/// Makes the calling thread launch on `stream`, until called with nothing.
void chooseStream(std::optional<uint64_t> stream);
int currentDevice();

} // namespace pantile::python
