//===- MatrixAccess.h - tiles that ldmatrix and stmatrix can move --------------------------===//
// Needs: the layout of a tile in registers and in shared memory; nothing of MLIR.
// Gives: the 8x8 matrices that its registers form, if they do.
// How:   such a matrix is found by the shape of the layout: four lanes side by side, eight below
//        one another, whatever the layout is called.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "layout/SharedLayout.h"
#include <optional>

namespace pantile {

struct MatrixAccess {
  bool transposed; ///< memory runs along the eight lanes
  int wordRegs;    ///< registers in one 32-bit word
  int matrices;    ///< 1, 2 or 4 an instruction
  int rowDim;      ///< the dimension that the eight rows of 16 bytes run along
};

std::optional<MatrixAccess> findMatrices(const LinearLayout &layout, const SharedLayout &shared);

/// `step` along `dim` of two dimensions.
inline LinearLayout::Coord matrixUnit(int dim, int32_t step) {
  return dim == 0 ? LinearLayout::Coord{step, 0} : LinearLayout::Coord{0, step};
}

} // namespace pantile
