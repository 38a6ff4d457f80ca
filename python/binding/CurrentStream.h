//===- CurrentStream.h - where the caller's library works now ---------------------------===//
// Needs: the GIL. Imports nothing: a library that made an argument is loaded already.
// Gives: the stream and the device that torch, else CuPy, use now; 0 and 0 without them.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>

namespace pantile::python {

uint64_t currentStream(int device);
/// Sends the calling thread's launches to `stream`, until called with nothing.
void chooseStream(std::optional<uint64_t> stream);
int currentDevice();

} // namespace pantile::python
