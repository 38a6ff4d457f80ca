//===- PointerDistances.h - pointers of a thread that constants keep apart ------------------===//
// Needs: a tile of pointers with a layout, and the mask of their access.
// Gives: for each register the one whose pointer it can do with, and the bytes between the two.
// How:   along a dimension with a constant stride (AffineAccess), registers whose bits no thread
//        shares lie a constant apart. So an access by inline assembly, into which LLVM folds no
//        constants, does with fewer 64-bit pointers, and so does a loop that carries them. Indices of
//        32 bits wrap around where an access is masked off, as behind the last row of a large array.
//        So an accessed element takes the pointer of one alone that is accessed with it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "layout/LinearLayout.h"

namespace pantile::lower {

/// `bytes` from the pointer that lies `shift` bytes behind that of register `reg`.
struct PointerDistance {
  int reg;
  int64_t bytes;
  int64_t shift = 0;
};

/// Of every `width`th register of `pointers`; of one that nothing is known of, itself and 0. `mask`
/// may be null. An
/// instruction has room for offsets of `reach` bytes either way; where it would take more, the
/// assembler adds to the pointer in front of every access, so there is one pointer for each
/// `2 * reach` bytes.
std::vector<PointerDistance> pointerDistances(mlir::Value pointers, mlir::Value mask,
                                              const LinearLayout &layout, int width, int64_t reach);

} // namespace pantile::lower
