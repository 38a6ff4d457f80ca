//===- Matrices.h - whole tiles between registers and shared memory -------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Loads all registers of `layout` from the buffer at `base`: by ldmatrix, or vectors of up to 16
/// bytes. A buffer that ends with the tile needs `inside`, the result of Lowering::inside; the
/// scratch of a conversion covers the hull and does not.
Values loadTile(Lowering &l, llvm::Value *base, const SharedLayout &shared,
                const LinearLayout &layout, llvm::Type *elementType, ValueList inside = {});
/// Stores them: by stmatrix, or vectors.
void storeTile(Lowering &l, ValueList values, llvm::Value *base, const SharedLayout &shared,
               const LinearLayout &layout, ValueList inside = {});

} // namespace pantile::lower
