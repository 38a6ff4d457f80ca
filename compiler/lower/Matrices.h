//===- Matrices.h - whole tiles between registers and shared memory -------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// All registers of `layout`, from the buffer at `base`: ldmatrix, or vectors of up to 16 bytes. If
/// the buffer ends with the tile, `inside` as of Lowering::inside; a conversion's scratch does not.
Values loadTile(Lowering &l, llvm::Value *base, const SharedLayout &shared,
                const LinearLayout &layout, llvm::Type *elementType, ValueList inside = {});
/// The same way back: stmatrix, or vectors.
void storeTile(Lowering &l, ValueList values, llvm::Value *base, const SharedLayout &shared,
               const LinearLayout &layout, ValueList inside = {});

} // namespace pantile::lower
