//===- MatrixAccess.h - tiles that ldmatrix and stmatrix can move ------------------===//
// Needs: the layout of a tile in registers and in shared memory; nothing of MLIR.
// Gives: the 8x8 matrices that its registers form, if they do.
// How:   A matrix is found by its bases in any layout: four lanes along a row, eight rows of lanes.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "layout/SharedLayout.h"
#include <optional>

namespace pantile {

struct MatrixAccess {
  bool transposed; ///< memory runs along the eight lanes
  int wordRegs;    ///< registers in one 32-bit word
  int matrices;    ///< per instruction: 1, 2 or 4
  int rowDim;      ///< the dimension that the eight rows of 16 bytes run along
};

std::optional<MatrixAccess> findMatrices(const LinearLayout &layout, const SharedLayout &shared);

/// `step` along `dim` of two dimensions.
inline LinearLayout::Coord matrixUnit(int dim, int32_t step) {
  return dim == 0 ? LinearLayout::Coord{step, 0} : LinearLayout::Coord{0, step};
}

} // namespace pantile
