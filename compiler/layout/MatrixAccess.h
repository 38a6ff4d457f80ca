//===- MatrixAccess.h - how a tile moves between registers and shared memory -------===//
// Needs: the layout of a tile in registers and in shared memory; nothing of MLIR.
// Gives: the 8x8 matrices that its registers form for ldmatrix and stmatrix, if they do; else the
//        vectors; and what either costs.
// How:   A matrix is found by its bases in any layout. Memory runs along the elements of a word and
//        four lanes, or, transposed, along units of 16 bits and eight lanes. The eight rows of 16
//        bytes may be anywhere, since a lane provides the address of each. A vector is made of
//        whichever registers have consecutive elements.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "layout/SharedLayout.h"
#include <optional>

namespace pantile {

struct MatrixAccess {
  bool transposed;          ///< memory runs along the eight lanes
  int registersPerWord;     ///< registers in one 32-bit word
  int matrices;             ///< per instruction: 1, 2 or 4
  LinearLayout ordered;     ///< the layout, with the registers of a word first
  LinearLayout::Bases rows; ///< of the bits of a row's number, 0 to 7
};

std::optional<MatrixAccess> findMatrices(const LinearLayout &layout, const SharedLayout &shared);

/// Conflicts of ldmatrix and stmatrix: how many of eight rows of 16 bytes are in the same banks.
int matrixConflicts(const MatrixAccess &matrix, const SharedLayout &shared);

/// The registers of `layout` in the order in which vectors of `shared` have them: renumbered where
/// that makes the vectors wider.
LinearLayout inVectorOrder(const LinearLayout &layout, const SharedLayout &shared);

/// The registers of `layout` in the order in which loads from `shared` fill 32-bit registers.
LinearLayout inLoadOrder(const LinearLayout &layout, const SharedLayout &shared);
/// Whether each load fills whole 32-bit registers.
bool loadsWords(const LinearLayout &layout, const SharedLayout &shared);

/// What a warp's access of all registers costs: a cycle for each instruction, and one for each 128
/// bytes or bank conflict.
int64_t sharedCycles(const LinearLayout &layout, const SharedLayout &shared);

} // namespace pantile
