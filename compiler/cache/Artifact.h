//===- Artifact.h - a compiled kernel as bytes --------------------------------------------===//
// Needs: a GPU kernel. (The interpreter translates its kernels again in each process: it costs
//        less.)
// Gives: bytes from which the same kernel is made without compiling.
// How:   Bytes.h's encoding after a format number. The cache adds header and checksum; here only
//        the structure is checked, so a reader never crashes on invalid bytes.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"
#include <optional>
#include <string>
#include <string_view>

namespace pantile {

std::string serializeArtifact(const Kernel::Data &data);

/// Nothing if the bytes are no artifact of this format.
std::optional<Kernel::Data> parseArtifact(std::string_view bytes);

} // namespace pantile
