//===- MatrixAccess.cpp - how a tile moves between registers and shared memory -------------===//
#include "layout/MatrixAccess.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace pantile {
namespace {
/// Whether words run along `along`, then four lanes along it, and eight lanes along the other
/// dimension.
bool isMatrix(const LinearLayout &layout, int along, size_t inWord) {
  bool fits = layout.reg().size() >= inWord;
  for (size_t i = 0; fits && i < inWord; ++i)
    fits = layout.reg()[i] == matrixUnit(along, 1 << i);
  for (int i = 0; i < 2; ++i)
    fits &= layout.lane()[i] == matrixUnit(along, 1 << (inWord + i));
  for (int i = 0; i < 3; ++i)
    fits &= layout.lane()[2 + i] == matrixUnit(1 - along, 1 << i);
  return fits;
}
/// Whether all or none of each `count` registers are present.
bool isAllOrNothing(const LinearLayout &layout, int count) {
  if (layout.fillsHull())
    return true;
  for (int reg = 0; reg < layout.numRegs(); ++reg)
    if (layout.isPresent(reg) != layout.isPresent(reg / count * count))
      return false;
  return true;
}
} // namespace

std::optional<MatrixAccess> findMatrices(const LinearLayout &layout, const SharedLayout &shared) {
  const int bits = shared.elementBits();
  if (bits > 32 || bits < 8 || layout.rank() != 2 || layout.lane().size() != 5 ||
      shared.rowBytes() < 16 || layout.freeBits().lane != 0 || layout.hasPartialRegs())
    return std::nullopt;
  const size_t inWord = llvm::Log2_32(32 / bits);
  for (int along : {0, 1}) {
    const bool transposed = shared.order()[0] != along;
    // Transposing moves elements of 16 bits.
    if (!isMatrix(layout, along, inWord) || (transposed && bits != 16))
      continue;
    int matrices = 1 << std::min<size_t>(layout.reg().size() - inWord, 2);
    while (matrices > 1 && !isAllOrNothing(layout, matrices << inWord))
      matrices /= 2;
    return MatrixAccess{transposed, 1 << inWord, matrices, transposed ? along : 1 - along};
  }
  return std::nullopt;
}

int matrixConflicts(const MatrixAccess &matrix, const SharedLayout &shared) {
  int rowsOfChunk[8] = {};
  for (int row = 0; row < 8; ++row)
    ++rowsOfChunk[shared.offset(matrixUnit(matrix.rowDim, row)) / 16 % 8];
  return *std::max_element(rowsOfChunk, rowsOfChunk + 8);
}

LinearLayout inVectorOrder(const LinearLayout &layout, const SharedLayout &shared) {
  LinearLayout sorted = layout.regsAlong(shared.order()[0]);
  return shared.vectorBytes(sorted) > shared.vectorBytes(layout) ? sorted : layout;
}

int64_t sharedCycles(const LinearLayout &layout, const SharedLayout &shared) {
  const int64_t bytes = std::max<int64_t>(int64_t(layout.numRegs()) * shared.elementBits() / 8, 1);
  const LinearLayout sorted = inVectorOrder(layout, shared);
  const int vector = shared.vectorBytes(sorted);
  const auto matrix = findMatrices(layout, shared);
  if (matrix && vector < 16) // as much per instruction as four matrices
    return bytes / 4 * matrixConflicts(*matrix, shared) + bytes / 4 / matrix->matrices;
  const int64_t instructions = llvm::divideCeil(bytes, vector);
  const int64_t parts = std::max(layout.numLanes() * vector / 128, 1);
  return instructions * (1 + parts * shared.bankConflicts(sorted, vector));
}

} // namespace pantile
