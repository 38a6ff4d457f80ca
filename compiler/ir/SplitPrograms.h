//===- SplitPrograms.h - kernels whose programs may be cut between blocks -----------------===//
// Launches of such a kernel bring memory for one part of a sum a block: as the first of the two
// scratch pointers, flags of 32 bits for `mostSplitBlocks` blocks, which are zero between launches,
// then `nv.partial_bytes` a block. A null pointer is as good: then each program runs whole.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"

namespace pantile {

namespace names {
constexpr llvm::StringLiteral partialBytes =
    "nv.partial_bytes"; // i64, on the module: of the part of a sum that a block hands over
} // namespace names

constexpr int mostSplitBlocks = 8192;
constexpr int64_t splitFlagBytes = 4 * mostSplitBlocks;

} // namespace pantile
