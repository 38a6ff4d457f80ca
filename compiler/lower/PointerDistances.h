//===- PointerDistances.h - pointers of a thread that differ by constants -------------------===//
// Needs: a tile of pointers with a layout, and the mask of their access.
// Gives: for each register, another register whose pointer it can use, and the constant offset in
//        bytes from that pointer; the same as LLVM's values and the operand of an instruction.
// How:   Along a dimension with a constant stride (AffineAccess), pointers of one thread differ by
//        constants. LLVM does not fold constants into inline assembly, so using one base pointer
//        with immediate offsets saves 64-bit registers, also in loops that carry the pointers.
//        The base must be accessed whenever the element is: 32-bit indices may wrap around where an
//        access is masked off, such as past the last row of a large array.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "layout/LinearLayout.h"
#include "lower/Lowering.h"

namespace pantile::lower {

/// The address `bytes` after a base, which is `shift` bytes after the pointer of register `reg`.
struct PointerDistance {
  int reg;
  int64_t bytes;
  int64_t shift = 0;
};

/// Returns the base of every `width`th register of `pointers`; a register without a known distance
/// is its own base. `mask` may be null. An instruction encodes offsets of up to `reach` bytes
/// either way; for larger ones ptxas adds to the pointer before every access. So there is one base
/// per `2 * reach` bytes.
std::vector<PointerDistance> pointerDistances(mlir::Value pointers, mlir::Value mask,
                                              const LinearLayout &layout, int width, int64_t reach);

/// An instruction adds `bytes` to a pointer, which other accesses of the thread can use, too.
struct Address {
  llvm::Value *pointer;
  int64_t bytes;

  /// The sum as a value.
  llvm::Value *computed(Lowering &l) const;

  /// The sum as text, of an instruction whose pointer is the operand `place` of its assembly.
  std::string operand(int place) const;
};

/// The address of every `width`th register of the tile `pointers`; see `pointerDistances`.
llvm::SmallVector<Address> sharedAddresses(Lowering &l, mlir::Value pointers, mlir::Value mask,
                                           int width, int64_t reach);

} // namespace pantile::lower
