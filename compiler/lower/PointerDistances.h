//===- PointerDistances.h - pointers of a thread that constants keep apart ------------------===//
// Needs: a tile of pointers with a layout.
// Gives: for each register the one whose pointer it can do with, and the bytes between the two.
// How:   along a dimension with a constant stride (AffineAccess), registers whose bits no thread
//        shares lie a constant apart. So an access by inline assembly, into which LLVM folds no
//        constants, does with fewer 64-bit pointers, and so does a loop that carries them.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "analysis/LinearLayout.h"

namespace pantile::lower {

struct PointerDistance {
  int reg;
  int64_t bytes;
};

/// Of every `width`th register of `pointers`; of one that nothing is known of, itself and 0. An
/// instruction has room for offsets of `reach` bytes either way; where it would take more, the
/// assembler adds to the pointer in front of every access, so there is one pointer for each
/// `2 * reach` bytes.
std::vector<PointerDistance> pointerDistances(mlir::Value pointers, const LinearLayout &layout,
                                              int width, int64_t reach);

} // namespace pantile::lower
