//===- MatrixAccess.cpp - tiles that ldmatrix and stmatrix can move ------------------------===//
#include "layout/MatrixAccess.h"
#include "llvm/Support/MathExtras.h"

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

} // namespace pantile
