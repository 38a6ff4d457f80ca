//===- MmaLayout.cpp - see MmaLayout.h ----------------------------------------------------===//
#include "ir/MmaLayout.h"

namespace pantile {

std::optional<LinearLayout> asyncAccumulatorLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape) {
  if (mma.getKind() != MmaKind::Wgmma)
    return std::nullopt;
  const LinearLayout acc = LinearLayout::wgmmaAccumulator(shape, {mma.getWarpsM(), mma.getWarpsN()},
                                                          mma.getN(), mma.getRun());
  return acc.withAdjacentRows(mma.getAdjacentRows());
}

LinearLayout wgmmaLeftLayout(MmaAttr mma, llvm::ArrayRef<int64_t> shape, int elementBits) {
  return LinearLayout::mmaOperandA(shape, {mma.getWarpsM(), mma.getWarpsN()}, elementBits)
      .withAdjacentRows(mma.getAdjacentRows());
}

} // namespace pantile
