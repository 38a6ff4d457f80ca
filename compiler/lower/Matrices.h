//===- Matrices.h - whole tiles between registers and shared memory -------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// All registers of `layout`, from the buffer at `base`: ldmatrix, or vectors of up to 16 bytes.
Values loadTile(Lowering &l, llvm::Value *base, const SharedLayout &shared,
                const LinearLayout &layout, llvm::Type *elementType);
/// The same way back: stmatrix, or vectors.
void storeTile(Lowering &l, ValueList values, llvm::Value *base, const SharedLayout &shared,
               const LinearLayout &layout);

} // namespace pantile::lower
